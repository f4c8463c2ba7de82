import { createHash } from 'node:crypto';
import { createUpload } from '../api/calls.ts';
import { type FilePart, formBody } from '../api/form-body.ts';
import type { Http } from '../api/http.ts';
import { fileFieldOf, type UploadKind } from '../contract/uploads.ts';
import { LocalError } from '../errors.ts';
import { filePart, type LocalFile, readContent } from './files.ts';

/** Returns the SHA-256 of a file in hexadecimal. @throws LocalError if it cannot be read; the reason of the signal */
export async function hashFile(file: LocalFile, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readContent(file, signal)) hash.update(chunk);
  signal.throwIfAborted();
  return hash.digest('hex');
}

/** Calls `onSent` with the number of bytes that were taken so far. */
async function* countBytes(chunks: AsyncIterable<Uint8Array>, onSent: (bytes: number) => void) {
  let sent = 0;
  onSent(sent);
  for await (const chunk of chunks) {
    yield chunk;
    sent += chunk.length;
    onSent(sent);
  }
}

/** A request that sends everything but the end of its form, without which the service cannot take it for complete. */
export interface HeldRequest {
  /** Resolves once only the end is missing. @throws the error of a request that failed before */
  untilHeld(): Promise<unknown>;
  /** Sends the end, if it may be sent. @returns the id of the upload @throws as `createUpload` */
  finish(maySend: () => boolean): Promise<string>;
}

export interface StartOptions {
  readonly http: Http;
  readonly as: UploadKind;
  /** By default that of the extension. */
  readonly contentType: string | undefined;
  /** Receives how much of a file the connection has accepted; 0 when an attempt starts. */
  readonly onSent: (file: LocalFile, bytes: number) => void;
}

/** Starts to send a file. @param timeoutMs for the whole call; without it, a request may take any time while it makes progress */
export function startUpload(file: LocalFile, options: StartOptions, timeoutMs?: number): HeldRequest {
  const { http, as, contentType, onSent } = options;
  let hold = (): void => undefined;
  let permit = (_maySend: () => boolean): void => undefined;
  const held = new Promise<void>((resolve) => {
    hold = resolve;
  });
  const permission = new Promise<() => boolean>((resolve) => {
    permit = resolve;
  });
  async function beforeEnd(): Promise<void> {
    hold();
    const maySend = await permission;
    if (!maySend()) throw new LocalError('The end of the file may no longer be sent.');
  }
  async function send(): Promise<string> {
    const part = await filePart(fileFieldOf(as, http.contract), file, contentType);
    const content: FilePart['content'] = (ended) => countBytes(part.content(ended), (bytes) => onSent(file, bytes));
    const body = formBody({ ...part, content }, beforeEnd);
    return await createUpload(http, as, body, timeoutMs === undefined ? {} : { timeoutMs });
  }
  const response = send();
  return {
    untilHeld: () => Promise.race([held, response]),
    finish(maySend) {
      permit(maySend);
      return response;
    },
  };
}
