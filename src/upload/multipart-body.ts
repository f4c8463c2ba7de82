import { randomBytes } from 'node:crypto';
import type { StreamedBody } from '../api/streamed-body.ts';
import { findFiles } from './find-files.ts';
import { encodeName, readFileContent } from './upload-source.ts';

/** A field of a form, as typed: a text, or the content of a file. */
export type FormField = { readonly name: string } & ({ readonly text: string } | { readonly path: string });

interface Part {
  readonly bytes: number;
  content(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

const UNKNOWN_TYPE = 'application/octet-stream';

function textPart(text: string): Part {
  const bytes = Buffer.from(text);
  return {
    bytes: bytes.length,
    async *content() {
      yield bytes;
    },
  };
}

/** @throws InputError if the file cannot be read */
async function partsOf(field: FormField, boundary: string, signal: AbortSignal): Promise<readonly Part[]> {
  const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${encodeName(field.name)}"`;
  if ('text' in field) return [textPart(`${disposition}\r\n\r\n${field.text}\r\n`)];
  const [file] = await findFiles([field.path], { recursive: false, include: [], exclude: [] }, signal);
  if (!file) return [];
  const { default: mime } = await import('mime');
  const type = mime.getType(file.filename) ?? UNKNOWN_TYPE;
  const head = `${disposition}; filename="${encodeName(file.filename)}"\r\nContent-Type: ${type}\r\n\r\n`;
  const content: Part['content'] = (ended) => readFileContent(file, ended);
  return [textPart(head), { bytes: file.bytes, content }, textPart('\r\n')];
}

/**
 * Builds a multipart/form-data body (RFC 7578) of any fields, in order. Files are read while they are sent.
 * @throws InputError that names a file that cannot be read
 */
export async function multipartBody(fields: readonly FormField[], signal: AbortSignal): Promise<StreamedBody> {
  // Random, so that it does not occur in the body.
  const boundary = `partnerctl-${randomBytes(16).toString('hex')}`;
  const parts: Part[] = [];
  for (const field of fields) parts.push(...(await partsOf(field, boundary, signal)));
  const tail = Buffer.from(`--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    formFields: fields.map(({ name }) => name),
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, tail.length),
    closingBytes: tail.length,
    async *chunks(ended) {
      for (const part of parts) yield* part.content(ended);
      if (!ended.aborted) yield tail;
    },
  };
}
