import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { Sending, StreamedBody } from '../api/streamed-body.ts';
import { multipartFrame } from '../domain/upload/multipart.ts';
import { InputError } from '../errors.ts';
import { fileReason } from '../input.ts';

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
  /** The content in order. @throws InputError when it cannot be read, or is not what it was when it was looked at */
  content(over: AbortSignal): AsyncIterable<Buffer>;
  readonly body: BodyForm;
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

const CHUNK_BYTES = 256 * 1024;
const NOTHING = new Uint8Array();

/** A file as it was when it was looked at. */
export interface LookedAt {
  readonly path: string;
  readonly bytes: number;
  readonly inode: bigint;
  readonly modified: bigint;
}

function changed({ path }: LookedAt): InputError {
  return new InputError(`${path} changed while it was read.`, {
    why: 'What the service would have got was neither the old file nor the new one, so it was not completed.',
    hint: 'Run it again once nothing writes to the file.',
  });
}

async function refuseChanged(file: FileHandle, looked: LookedAt): Promise<void> {
  const { size, mtimeNs, ino } = await file.stat({ bigint: true });
  if (size !== BigInt(looked.bytes) || mtimeNs !== looked.modified || ino !== looked.inode) throw changed(looked);
}

/** The bytes of a file, in constant memory. @throws InputError when it cannot be read, or changed since it was looked at */
export async function* fileContent(looked: LookedAt, over: AbortSignal): AsyncGenerator<Buffer> {
  let file: FileHandle;
  try {
    file = await open(looked.path);
  } catch (error) {
    throw new InputError(`${looked.path} cannot be read.`, { why: fileReason(error), cause: error });
  }
  try {
    await refuseChanged(file, looked);
    for (let at = 0; at < looked.bytes && !over.aborted; ) {
      // A buffer of its own for each read: the connection may still hold the one before.
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, looked.bytes - at));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) throw changed(looked);
      at += bytesRead;
      yield bytesRead === buffer.length ? buffer : buffer.subarray(0, bytesRead);
    }
    if (!over.aborted) await refuseChanged(file, looked);
  } finally {
    await file.close();
  }
}

/** A multipart body around a file of so many bytes. */
export function fileForm(
  filename: string,
  bytes: number,
  contentType: string,
  fields: readonly (readonly [string, string])[],
): BodyForm {
  const boundary = `partnerctl-${randomBytes(16).toString('hex')}`;
  return {
    ...multipartFrame({ fields, field: 'file', filename, contentType, boundary }),
    bytes,
    encode: (chunk) => chunk,
  };
}

/** A document of a name and a text, sent as JSON. */
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
    body: {
      contentType: 'application/json',
      bytes: escaped.length,
      encode: () => escaped,
      head: Buffer.from(`{"name":${JSON.stringify(name)},"content":"`),
      tail: Buffer.from('"}'),
    },
  };
}

/** The sha256 of a source's content, in hexadecimal. */
export async function hashOf(source: UploadSource, over: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of source.content(over)) hash.update(chunk);
  over.throwIfAborted();
  return hash.digest('hex');
}

export interface BodyHooks {
  /** Told of every part of the content that the connection took, in bytes. */
  readonly onProgress: (bytes: number) => void;
  /** Everything but the last bytes was sent. What it throws keeps them from being sent. */
  readonly beforeLast: (sha256: string, sending: Sending) => Promise<void>;
}

/** The body of one upload, made afresh for every attempt. */
export function bodyOf({ body, content }: UploadSource, { onProgress, beforeLast }: BodyHooks): StreamedBody {
  const { contentType, head, tail, bytes, encode } = body;
  return {
    contentType,
    bytes: head.length + bytes + tail.length,
    closing: tail.length,
    async *chunks(sending: Sending): AsyncGenerator<Uint8Array> {
      const hash = createHash('sha256');
      let sent = 0;
      onProgress(0);
      // With the first of the content: a small file goes with the headers, before a service can answer to those alone.
      let before = head;
      for await (const chunk of content(sending.over)) {
        hash.update(chunk);
        yield before.length > 0 ? Buffer.concat([before, encode(chunk)]) : encode(chunk);
        before = NOTHING;
        sent += chunk.length;
        onProgress(sent);
      }
      if (before.length > 0) yield before;
      if (sending.over.aborted) return;
      await beforeLast(hash.digest('hex'), sending);
      if (sending.over.aborted) return;
      yield tail;
    },
  };
}
