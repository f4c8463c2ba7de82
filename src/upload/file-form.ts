import { randomBytes } from 'node:crypto';

/** The content type of a file whose name has no known extension. */
export const UNKNOWN_TYPE = 'application/octet-stream';

/** What comes before and after the content in a request, and how the content is encoded. */
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

/** Encodes a name as browsers do: quotes and line breaks are percent-encoded, everything else is UTF-8. */
function encodeName(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

/** Creates the boundary of a form. It is random, so that it does not occur in the body. */
export function createBoundary(): string {
  return `partnerctl-${randomBytes(16).toString('hex')}`;
}

/** Returns a part of a form that has a text. */
export function textPart(boundary: string, name: string, text: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${encodeName(name)}"\r\n\r\n${text}\r\n`;
}

/** Returns what comes before the bytes in a part that has a file. */
export function fileHead(
  boundary: string,
  { name, filename, contentType }: { readonly name: string; readonly filename: string; readonly contentType: string },
): string {
  const disposition = `form-data; name="${encodeName(name)}"; filename="${encodeName(filename)}"`;
  return `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${contentType}\r\n\r\n`;
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
 * Creates a multipart/form-data body (RFC 7578, with names encoded as in the HTML standard) for one file (spec §4, endpoints
 * 7 and 8, leaves the fields open).
 */
export function fileForm({ fileField = 'file', filename, bytes, contentType, fields }: FileFormInput): BodyForm {
  const boundary = createBoundary();
  const parts = fields.map(([name, value]) => textPart(boundary, name, value));
  const head = fileHead(boundary, { name: fileField, filename, contentType });
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    fields: [...fields.map(([name]) => name), fileField],
    bytes,
    encode: (chunk) => chunk,
    head: Buffer.from(parts.join('') + head),
    tail: Buffer.from(`\r\n--${boundary}--\r\n`),
  };
}
