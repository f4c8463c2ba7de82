import type { StreamedBody } from '../api/streamed-body.ts';
import { createBoundary, fileHead, textPart, UNKNOWN_TYPE } from './file-form.ts';
import { findFiles } from './find-files.ts';
import { readFileContent } from './upload-source.ts';

/** A field of a form, as typed: a text, or the content of a file. */
export type FormField = { readonly name: string } & ({ readonly text: string } | { readonly path: string });

interface Part {
  readonly bytes: number;
  content(signal: AbortSignal): AsyncIterable<Uint8Array>;
}

function literalPart(text: string): Part {
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
  const { name } = field;
  if ('text' in field) return [literalPart(textPart(boundary, name, field.text))];
  const [file] = await findFiles([field.path], { recursive: false, include: [], exclude: [] }, signal);
  if (!file) return [];
  const { default: mime } = await import('mime');
  const { filename } = file;
  const head = fileHead(boundary, { name, filename, contentType: mime.getType(filename) ?? UNKNOWN_TYPE });
  const content: Part['content'] = (ended) => readFileContent(file, ended);
  return [literalPart(head), { bytes: file.bytes, content }, literalPart('\r\n')];
}

/**
 * Builds a multipart/form-data body (RFC 7578) of any fields, in order. Reads files while they are sent.
 * @throws InputError that names a file that cannot be read
 */
export async function multipartBody(fields: readonly FormField[], signal: AbortSignal): Promise<StreamedBody> {
  const boundary = createBoundary();
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
