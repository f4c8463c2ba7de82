import { randomBytes } from 'node:crypto';
import type { StreamedBody } from './streamed-body.ts';

/** A part of a form with a file, whose content is read while it is sent. */
export interface FilePart {
  readonly name: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  content(attemptEnded: AbortSignal): AsyncIterable<Uint8Array>;
}

export type FormPart = FilePart | { readonly name: string; readonly text: string };

/** Encodes a name as browsers do: quotes and line breaks are percent-encoded, everything else is UTF-8. */
function encodeName(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

/** What comes before the content of a part. */
function headOf(part: FormPart): string {
  const disposition = `Content-Disposition: form-data; name="${encodeName(part.name)}"`;
  if ('text' in part) return `${disposition}\r\n\r\n`;
  return `${disposition}; filename="${encodeName(part.filename)}"\r\nContent-Type: ${part.contentType}\r\n\r\n`;
}

/**
 * Creates a multipart/form-data body (RFC 7578, with names encoded as in the HTML standard) of these parts, in order.
 * @param beforeClosing called when everything except the end of the form was sent; if it rejects, the end never is. Until
 *   then, the service cannot take the form for complete
 */
export function formBody(parts: readonly FormPart[], beforeClosing?: () => Promise<void>): StreamedBody {
  // Random, so that it does not occur in the content.
  const boundary = `partnerctl-${randomBytes(16).toString('hex')}`;
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const pieces = parts.map((part, index) => ({
    part,
    head: Buffer.from(`${index === 0 ? '' : '\r\n'}--${boundary}\r\n${headOf(part)}${'text' in part ? part.text : ''}`),
  }));
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    formFields: parts.map(({ name }) => name),
    bytes: pieces.reduce((sum, { part, head }) => sum + head.length + ('bytes' in part ? part.bytes : 0), tail.length),
    closingBytes: tail.length,
    async *chunks(attemptEnded) {
      for (const { part, head } of pieces) {
        yield head;
        if ('content' in part) yield* part.content(attemptEnded);
      }
      if (!attemptEnded.aborted) await beforeClosing?.();
      if (!attemptEnded.aborted) yield tail;
    },
  };
}
