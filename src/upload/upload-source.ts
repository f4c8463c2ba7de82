import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { StreamedBody } from '../api/streamed-body.ts';
import { describeFileError, LocalError } from '../errors.ts';
import type { BodyForm } from './file-form.ts';
import type { InspectedFile } from './upload-records.ts';

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
  /** Creates the form, with the file in this form field. Not stored, because the forms of many files need much memory. */
  form(fileField?: string): BodyForm;
}

/** Large enough that the overhead per chunk does not matter. */
const CHUNK_BYTES = 512 * 1024;
/** Smaller files are read synchronously: an asynchronous call takes longer than the read. */
const SMALL_BYTES = 64 * 1024;
const NOTHING = new Uint8Array();

function changedError({ path }: InspectedFile): LocalError {
  return new LocalError(`${path} changed while it was being uploaded.`, {
    why: 'The upload was not completed: it would have mixed the old content with the new.',
    hint: 'Wait until nothing writes to the file.',
  });
}

/** The file did not change, but its content is longer or shorter than its size. */
function sizeError({ path }: InspectedFile): LocalError {
  return new LocalError(`The content of ${path} does not match its size.`, {
    why: 'The system may generate it on every read, as for files below /proc. The upload was not completed.',
    hint: 'Pipe its content to standard input: partnerctl upload - --filename <name>',
  });
}

function assertUnchanged(fd: number, inspected: InspectedFile): void {
  const { size, mtimeNs, ctimeNs, ino, nlink } = fstatSync(fd, { bigint: true });
  // Removing a file also sets its ctime, but does not change the content.
  const hasNewCtime = ctimeNs !== inspected.changed && nlink > 0n;
  if (size !== BigInt(inspected.bytes) || mtimeNs !== inspected.modified || hasNewCtime || ino !== inspected.inode)
    throw changedError(inspected);
}

/** Reads a chunk into a new buffer: the connection may still use the previous one. */
async function readChunk(at: number, file: FileHandle, inspected: InspectedFile): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, inspected.bytes - at));
  const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
  if (bytesRead === 0 && buffer.length > 0) {
    assertUnchanged(file.fd, inspected);
    throw sizeError(inspected);
  }
  return buffer.subarray(0, bytesRead);
}

async function assertEnd(file: FileHandle, inspected: InspectedFile): Promise<void> {
  const { bytesRead } = await file.read(Buffer.allocUnsafe(1), 0, 1, inspected.bytes);
  assertUnchanged(file.fd, inspected);
  if (bytesRead > 0) throw sizeError(inspected);
}

/**
 * Reads a small file in one call.
 * @returns undefined if the system returned only a part of it
 * @throws LocalError if it has changed since it was inspected, or its content does not match its size
 */
function readWhole(fd: number, inspected: InspectedFile): Buffer | undefined {
  // If a pipe has replaced the file, the read could block forever.
  assertUnchanged(fd, inspected);
  // One more byte, to notice content that is longer than its size.
  const buffer = Buffer.allocUnsafe(inspected.bytes + 1);
  const bytesRead = readSync(fd, buffer, 0, buffer.length, 0);
  assertUnchanged(fd, inspected);
  if (bytesRead > inspected.bytes) throw sizeError(inspected);
  return bytesRead === inspected.bytes ? buffer.subarray(0, bytesRead) : undefined;
}

/**
 * Reads an open file in constant memory.
 * @param inspected the file before the upload
 * @param signal stops reading early, without an error
 * @throws LocalError if it has changed since then, or its content does not match its size
 */
export async function* readOpenFile(
  file: FileHandle,
  inspected: InspectedFile,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const whole = inspected.bytes < SMALL_BYTES ? readWhole(file.fd, inspected) : undefined;
  if (whole) {
    if (whole.length > 0) yield whole;
    return;
  }
  let next: Promise<Buffer> | undefined;
  try {
    assertUnchanged(file.fd, inspected);
    next = readChunk(0, file, inspected);
    for (let at = 0; at < inspected.bytes && !signal.aborted; ) {
      const chunk = await next;
      at += chunk.length;
      // Read ahead while this chunk is hashed and sent. An error is thrown by the next `await`.
      next = readChunk(at, file, inspected);
      next.catch(() => undefined);
      yield chunk;
    }
    if (!signal.aborted) await assertEnd(file, inspected);
  } finally {
    await next?.catch(() => undefined);
  }
}

// Without O_NONBLOCK, opening a pipe that has replaced the file would wait for a writer.
const { O_NONBLOCK = 0, O_RDONLY } = constants;

function unreadableError({ path }: InspectedFile, error: unknown): LocalError {
  return new LocalError(`${path} cannot be read.`, { why: describeFileError(error), cause: error });
}

/** Opens, reads, and closes a small file, as `readWhole` does. @throws LocalError also if it cannot be opened */
function readSmall(inspected: InspectedFile): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(inspected.path, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    throw unreadableError(inspected, error);
  }
  try {
    return readWhole(fd, inspected);
  } finally {
    closeSync(fd);
  }
}

/** Reads a file as `readOpenFile` does. @throws LocalError also if it cannot be opened */
export async function* readFileContent(inspected: InspectedFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  const whole = inspected.bytes < SMALL_BYTES ? readSmall(inspected) : undefined;
  if (whole) {
    if (whole.length > 0) yield whole;
    return;
  }
  let file: FileHandle;
  try {
    file = await open(inspected.path);
  } catch (error) {
    throw unreadableError(inspected, error);
  }
  try {
    yield* readOpenFile(file, inspected, signal);
  } finally {
    await file.close();
  }
}

/** Creates the source of a text document, which is sent as JSON (spec §4, endpoint 7, leaves its form open). */
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

/** Returns the SHA-256 of a source's content, in hexadecimal. @throws the error of reading it; the reason of the signal */
export async function hashContent(source: UploadSource, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of source.content(signal)) hash.update(chunk);
  signal.throwIfAborted();
  return hash.digest('hex');
}

export interface BodyHooks {
  /** The name of the form field with the file; `file` by default. */
  readonly fileField?: string | undefined;
  /** Gets the number of content bytes that the connection has accepted so far. */
  readonly onProgress: (bytes: number) => void;
  /** Called when everything except the last bytes was sent. If it throws, they are not sent. */
  readonly beforeLastBytes: (sha256: string, signal: AbortSignal) => Promise<void>;
}

/** Creates the body of an upload. Its chunks throw what the content and `beforeLastBytes` throw. */
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
      // Sent together with the first chunk, so that a small file is sent with the headers.
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
