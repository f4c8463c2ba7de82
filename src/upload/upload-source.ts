import { createHash, randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { StreamedBody } from '../api/streamed-body.ts';
import { describeFileError } from '../cli/input.ts';
import { LocalError } from '../errors.ts';
import type { FileFacts } from './upload-records.ts';

/** Something to upload: a file, or a text in a JSON document. */
export interface UploadSource {
  /** As the user named it. */
  readonly label: string;
  /** The name sent to the service. */
  readonly filename: string;
  /** The size of the file or the text. */
  readonly bytes: number;
  /** See `fileStamp`; null for standard input and text. */
  readonly stamp: string | null;
  /** Reads the content in order. @throws LocalError when it cannot be read, or changed since it was inspected */
  content(signal: AbortSignal): AsyncIterable<Buffer>;
  /** Creates the form on each call, with the file in this form field: the forms of all files at once would need too much memory. */
  form(fileField?: string): BodyForm;
}

/** How the content is wrapped in the request: what goes before and after it, and how it is encoded. */
export interface BodyForm {
  readonly contentType: string;
  /** The names of its fields, if it is multipart. */
  readonly fields?: readonly string[];
  /** The size of the encoded content. */
  readonly bytes: number;
  encode(chunk: Buffer): Buffer;
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

/** Large enough that the overhead per chunk does not matter. */
const CHUNK_BYTES = 512 * 1024;
/** Smaller files are read without a thread: handing the call over would take longer than the read. */
const SMALL_BYTES = 64 * 1024;
const NOTHING = new Uint8Array();

function changed({ path }: FileFacts): LocalError {
  return new LocalError(`${path} changed while it was being uploaded.`, {
    why: 'The upload was not completed: it would have mixed the old content with the new.',
    hint: 'Wait until nothing writes to the file.',
  });
}

/** The file did not change, but its content is longer or shorter than its size. */
function sizeMismatch({ path }: FileFacts): LocalError {
  return new LocalError(`The content of ${path} does not match its size.`, {
    why: 'The system may generate it on every read, as for files below /proc. The upload was not completed.',
    hint: 'Pipe its content to standard input: partnerctl upload - --filename <name>',
  });
}

function refuseChanged(fd: number, inspected: FileFacts): void {
  const { size, mtimeNs, ctimeNs, ino, nlink } = fstatSync(fd, { bigint: true });
  // Removing a file also sets the time of its last change, and leaves the content.
  const wasTouched = ctimeNs !== inspected.changed && nlink > 0n;
  if (size !== BigInt(inspected.bytes) || mtimeNs !== inspected.modified || wasTouched || ino !== inspected.inode)
    throw changed(inspected);
}

/** The next bytes of a file, in a new buffer: the connection may still use the previous one. */
async function chunkAt(at: number, file: FileHandle, inspected: FileFacts): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, inspected.bytes - at));
  const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
  if (bytesRead === 0 && buffer.length > 0) {
    refuseChanged(file.fd, inspected);
    throw sizeMismatch(inspected);
  }
  return buffer.subarray(0, bytesRead);
}

async function refuseMore(file: FileHandle, inspected: FileFacts): Promise<void> {
  const { bytesRead } = await file.read(Buffer.allocUnsafe(1), 0, 1, inspected.bytes);
  refuseChanged(file.fd, inspected);
  if (bytesRead > 0) throw sizeMismatch(inspected);
}

/**
 * Reads a small file at once: each further call would take longer than the bytes.
 * @returns undefined if the system gives it in parts
 * @throws LocalError if it has changed since it was inspected, or its content does not match its size
 */
function readWhole(fd: number, inspected: FileFacts): Buffer | undefined {
  // A pipe that took the place of the file could block the read forever.
  refuseChanged(fd, inspected);
  // One more byte shows whether the content is longer than it should be.
  const buffer = Buffer.allocUnsafe(inspected.bytes + 1);
  const bytesRead = readSync(fd, buffer, 0, buffer.length, 0);
  refuseChanged(fd, inspected);
  if (bytesRead > inspected.bytes) throw sizeMismatch(inspected);
  return bytesRead === inspected.bytes ? buffer.subarray(0, bytesRead) : undefined;
}

/**
 * The bytes of an open file, in constant memory.
 * @param inspected the file as it was before the upload
 * @param signal stops reading early, without an error
 * @throws LocalError if it has changed since then, or its content does not match its size
 */
export async function* readOpenFile(
  file: FileHandle,
  inspected: FileFacts,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const whole = inspected.bytes < SMALL_BYTES ? readWhole(file.fd, inspected) : undefined;
  if (whole) {
    if (whole.length > 0) yield whole;
    return;
  }
  let next: Promise<Buffer> | undefined;
  try {
    refuseChanged(file.fd, inspected);
    next = chunkAt(0, file, inspected);
    for (let at = 0; at < inspected.bytes && !signal.aborted; ) {
      const chunk = await next;
      at += chunk.length;
      // Read ahead while this chunk is hashed and sent. An error is thrown when its turn comes.
      next = chunkAt(at, file, inspected);
      next.catch(() => undefined);
      yield chunk;
    }
    if (!signal.aborted) await refuseMore(file, inspected);
  } finally {
    await next?.catch(() => undefined);
  }
}

// Without O_NONBLOCK, opening a pipe that took the place of the file would wait for its other end.
const { O_NONBLOCK = 0, O_RDONLY } = constants;

function cannotBeRead({ path }: FileFacts, error: unknown): LocalError {
  return new LocalError(`${path} cannot be read.`, { why: describeFileError(error), cause: error });
}

/** Opens, reads, and closes a small file, as `readWhole` does. @throws LocalError also if it cannot be opened */
function readSmall(inspected: FileFacts): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(inspected.path, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    throw cannotBeRead(inspected, error);
  }
  try {
    return readWhole(fd, inspected);
  } finally {
    closeSync(fd);
  }
}

/** Like `readOpenFile`, for a file at a path. @throws LocalError also when it cannot be read */
export async function* readFileContent(inspected: FileFacts, signal: AbortSignal): AsyncGenerator<Buffer> {
  const whole = inspected.bytes < SMALL_BYTES ? readSmall(inspected) : undefined;
  if (whole) {
    if (whole.length > 0) yield whole;
    return;
  }
  let file: FileHandle;
  try {
    file = await open(inspected.path);
  } catch (error) {
    throw cannotBeRead(inspected, error);
  }
  try {
    yield* readOpenFile(file, inspected, signal);
  } finally {
    await file.close();
  }
}

/** Encodes a name as browsers do: quotes and line breaks are percent-encoded, everything else is UTF-8. */
export function encodeName(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

export interface FileFormInput {
  /** The name of the form field with the file; `file` by default. */
  readonly fileField?: string | undefined;
  readonly filename: string;
  readonly bytes: number;
  readonly contentType: string;
  /** Sent before the file, in order. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/**
 * A multipart/form-data body (RFC 7578, with names encoded as in the HTML standard) around the bytes of one file (spec §4,
 * endpoints 7 and 8, which leave the fields open).
 */
export function fileForm({ fileField = 'file', filename, bytes, contentType, fields }: FileFormInput): BodyForm {
  // Random, so that it does not occur in the body.
  const boundary = `partnerctl-${randomBytes(16).toString('hex')}`;
  const parts = fields.map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${encodeName(name)}"\r\n\r\n${value}\r\n`,
  );
  const disposition = `form-data; name="${encodeName(fileField)}"; filename="${encodeName(filename)}"`;
  const file = `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${contentType}\r\n\r\n`;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    fields: [...fields.map(([name]) => name), fileField],
    bytes,
    encode: (chunk) => chunk,
    head: Buffer.from(parts.join('') + file),
    tail: Buffer.from(`\r\n--${boundary}--\r\n`),
  };
}

/** A document with a name and a text, sent as JSON (spec §4, endpoint 7, which does not define the JSON). */
export function textSource(name: string, text: string): UploadSource {
  const bytes = Buffer.from(text);
  const escaped = Buffer.from(JSON.stringify(text).slice(1, -1));
  return {
    label: name,
    filename: name,
    bytes: bytes.length,
    stamp: null,
    async *content() {
      yield bytes;
    },
    form: () => ({
      contentType: 'application/json',
      bytes: escaped.length,
      encode: () => escaped,
      head: Buffer.from(`{"name":${JSON.stringify(name)},"content":"`),
      tail: Buffer.from('"}'),
    }),
  };
}

/** The SHA-256 of a source's content, in hexadecimal. @throws what its content throws, and the signal's reason when aborted */
export async function hashContent(source: UploadSource, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of source.content(signal)) hash.update(chunk);
  signal.throwIfAborted();
  return hash.digest('hex');
}

export interface BodyHooks {
  /** The name of the form field with the file; `file` by default. */
  readonly fileField?: string | undefined;
  /** Called with the number of content bytes that the connection has taken so far. */
  readonly onProgress: (bytes: number) => void;
  /** Called when everything but the last bytes was sent. If it throws, they are not sent. */
  readonly beforeLastBytes: (sha256: string, signal: AbortSignal) => Promise<void>;
}

/** The body of one upload. Every attempt iterates its chunks, which throw what the content and `beforeLastBytes` throw. */
export function createBody(
  { form, content }: UploadSource,
  { fileField, onProgress, beforeLastBytes }: BodyHooks,
): StreamedBody {
  const { contentType, fields, head, tail, bytes, encode } = form(fileField);
  return {
    contentType,
    formFields: fields,
    bytes: head.length + bytes + tail.length,
    closingBytes: tail.length,
    async *chunks(signal: AbortSignal): AsyncGenerator<Uint8Array> {
      const hash = createHash('sha256');
      let sent = 0;
      onProgress(0);
      // Sent together with the first chunk: a small file then leaves with the headers.
      let before = head;
      for await (const chunk of content(signal)) {
        hash.update(chunk);
        yield before.length > 0 ? Buffer.concat([before, encode(chunk)]) : encode(chunk);
        before = NOTHING;
        sent += chunk.length;
        onProgress(sent);
      }
      if (before.length > 0) yield before;
      if (signal.aborted) return;
      await beforeLastBytes(hash.digest('hex'), signal);
      if (signal.aborted) return;
      yield tail;
    },
  };
}
