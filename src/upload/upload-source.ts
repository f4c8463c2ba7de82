import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { StreamedBody } from '../api/streamed-body.ts';
import { describeFileError } from '../cli/input.ts';
import { FILE_FIELD } from '../contract/uploads.ts';
import { LocalError } from '../errors.ts';
import type { FileFacts } from './upload-records.ts';

/** What is uploaded: a file, or a text in a JSON document. */
export interface UploadSource {
  /** As the person named it. */
  readonly label: string;
  /** As the service is told it. */
  readonly filename: string;
  /** Of the file or the text itself. */
  readonly bytes: number;
  /** See `fileStamp`; null for what is no file that stays. */
  readonly stamp: string | null;
  /** The content in order. @throws LocalError when it cannot be read, or is not what it was when it was looked at */
  content(over: AbortSignal): AsyncIterable<Buffer>;
  /** Made anew whenever it is asked for: the forms of all files at once would fill the memory. */
  form(): BodyForm;
}

/** How the content stands in the request: what goes before and after it, and how it is written there. */
export interface BodyForm {
  readonly contentType: string;
  /** Of the content as it stands there. */
  readonly bytes: number;
  encode(chunk: Buffer): Buffer;
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

/** Large enough that what a chunk costs beside its bytes is little. */
const CHUNK_BYTES = 512 * 1024;
const NOTHING = new Uint8Array();

function changed({ path }: FileFacts): LocalError {
  return new LocalError(`${path} changed after it was looked at.`, {
    why: 'What the service would have got may be neither the old file nor the new one, so its end was not sent.',
    hint: 'Wait until nothing writes to the file.',
  });
}

/** Its size and times are what they were, and yet its content is longer or shorter. */
function missized({ path }: FileFacts): LocalError {
  return new LocalError(`${path} does not hold as many bytes as its size says.`, {
    why: 'It may be made up by the system whenever it is read, as what is below /proc is. It was not completed.',
    hint: 'Give its content as standard input: partnerctl upload - --filename <name>.',
  });
}

async function refuseChanged(file: FileHandle, looked: FileFacts): Promise<void> {
  const { size, mtimeNs, ino } = await file.stat({ bigint: true });
  if (size !== BigInt(looked.bytes) || mtimeNs !== looked.modified || ino !== looked.inode) throw changed(looked);
}

/** The next bytes of a file, in a buffer of their own: the connection may still hold those before. */
async function chunkAt(at: number, file: FileHandle, looked: FileFacts): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, looked.bytes - at));
  const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
  if (bytesRead === 0 && buffer.length > 0) {
    await refuseChanged(file, looked);
    throw missized(looked);
  }
  return buffer.subarray(0, bytesRead);
}

async function refuseMore(file: FileHandle, looked: FileFacts): Promise<void> {
  const { bytesRead } = await file.read(Buffer.allocUnsafe(1), 0, 1, looked.bytes);
  await refuseChanged(file, looked);
  if (bytesRead > 0) throw missized(looked);
}

/**
 * The bytes of an open file, in constant memory.
 * @param looked the file as it was when it was looked at
 * @param over ends the reading early, and without an error
 * @throws LocalError when it changed since it was looked at, or is not as long as its size says
 */
export async function* readOpenFile(file: FileHandle, looked: FileFacts, over: AbortSignal): AsyncGenerator<Buffer> {
  let next: Promise<Buffer> | undefined;
  try {
    await refuseChanged(file, looked);
    next = chunkAt(0, file, looked);
    for (let at = 0; at < looked.bytes && !over.aborted; ) {
      const chunk = await next;
      at += chunk.length;
      // It is read while this one is hashed and sent, and its failure is not heard of before its turn.
      next = chunkAt(at, file, looked);
      next.catch(() => undefined);
      yield chunk;
    }
    if (!over.aborted) await refuseMore(file, looked);
  } finally {
    await next?.catch(() => undefined);
  }
}

/** As `openContent`, of a file by its path. @throws LocalError also when it cannot be read */
export async function* readFileContent(looked: FileFacts, over: AbortSignal): AsyncGenerator<Buffer> {
  let file: FileHandle;
  try {
    file = await open(looked.path);
  } catch (error) {
    throw new LocalError(`${looked.path} cannot be read.`, { why: describeFileError(error), cause: error });
  }
  try {
    yield* readOpenFile(file, looked, over);
  } finally {
    await file.close();
  }
}

/**
 * A file in a multipart body (spec §4, endpoints 7 and 8, which leave the fields open).
 * @param bytes of the file
 * @param contentType of the file
 * @param fields that go before it
 */
export function fileForm(
  filename: string,
  bytes: number,
  contentType: string,
  fields: readonly (readonly [string, string])[],
): BodyForm {
  const boundary = `partnerctl-${randomBytes(16).toString('hex')}`;
  return {
    ...multipartFrame({ fields, field: FILE_FIELD, filename, contentType, boundary }),
    bytes,
    encode: (chunk) => chunk,
  };
}

/** A document of a name and a text, sent as JSON (spec §4, endpoint 7; what JSON it takes is left open). */
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

/** The sha256 of a source's content, in hexadecimal. @throws what its content throws, and the signal's reason once it is over */
export async function hashContent(source: UploadSource, over: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of source.content(over)) hash.update(chunk);
  over.throwIfAborted();
  return hash.digest('hex');
}

export interface BodyHooks {
  /** Told of every part of the content that the connection took, in bytes. */
  readonly onProgress: (bytes: number) => void;
  /** Everything but the last bytes was sent. What it throws keeps them from being sent. */
  readonly beforeLastBytes: (sha256: string, over: AbortSignal) => Promise<void>;
}

/** The body of one upload, which every attempt makes afresh out of the same form. Its chunks throw what the content and `beforeLast` throw. */
export function createBody(
  { form, content }: UploadSource,
  { onProgress, beforeLastBytes: beforeLast }: BodyHooks,
): StreamedBody {
  const { contentType, head, tail, bytes, encode } = form();
  return {
    contentType,
    bytes: head.length + bytes + tail.length,
    closingBytes: tail.length,
    async *chunks(over: AbortSignal): AsyncGenerator<Uint8Array> {
      const hash = createHash('sha256');
      let sent = 0;
      onProgress(0);
      // With the first of the content: a small file goes with the headers, before a service can answer to those alone.
      let before = head;
      for await (const chunk of content(over)) {
        hash.update(chunk);
        yield before.length > 0 ? Buffer.concat([before, encode(chunk)]) : encode(chunk);
        before = NOTHING;
        sent += chunk.length;
        onProgress(sent);
      }
      if (before.length > 0) yield before;
      if (over.aborted) return;
      await beforeLast(hash.digest('hex'), over);
      if (over.aborted) return;
      yield tail;
    },
  };
}

/** What goes before and after the bytes of a file in a multipart body. */
export interface MultipartFrame {
  readonly contentType: string;
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

export interface MultipartParts {
  /** Fields that go before the file, in order. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The name of the field that holds the file. */
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  /** In no part of the body: random. Letters, digits and hyphens. */
  readonly boundary: string;
}

/** As browsers do: quotes and line breaks are percent-encoded, everything else stays as it is, in UTF-8. */
function escapedName(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

/** A multipart/form-data body (RFC 7578, with names encoded as in the HTML standard) around the bytes of one file. */
export function multipartFrame({ fields, field, filename, contentType, boundary }: MultipartParts): MultipartFrame {
  const encoder = new TextEncoder();
  const parts = fields.map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${escapedName(name)}"\r\n\r\n${value}\r\n`,
  );
  const disposition = `form-data; name="${escapedName(field)}"; filename="${escapedName(filename)}"`;
  const file = `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${contentType}\r\n\r\n`;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    head: encoder.encode(parts.join('') + file),
    tail: encoder.encode(`\r\n--${boundary}--\r\n`),
  };
}
