import { randomBytes } from 'node:crypto';
import type { StreamedBody } from './streamed-body.ts';

/** A file in a form, whose content is read while it is sent. */
export interface FilePart {
  readonly name: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  content(attemptEnded: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Encodes a name as browsers do: quotes and line breaks are percent-encoded, everything else is UTF-8. */
function encodeName(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

/** Creates a multipart/form-data body (RFC 7578, with names encoded as in the HTML standard) of one file. */
export function formBody(file: FilePart): StreamedBody {
  // Random, so that it does not occur in the content.
  const boundary = `partnerctl-${randomBytes(16).toString('hex')}`;
  const [name, filename] = [encodeName(file.name), encodeName(file.filename)];
  const disposition = `Content-Disposition: form-data; name="${name}"; filename="${filename}"`;
  const head = Buffer.from(`--${boundary}\r\n${disposition}\r\nContent-Type: ${file.contentType}\r\n\r\n`);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: head.length + file.bytes + tail.length,
    closingBytes: tail.length,
    async *chunks(attemptEnded) {
      yield head;
      yield* file.content(attemptEnded);
      if (!attemptEnded.aborted) yield tail;
    },
  };
}
