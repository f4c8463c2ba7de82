import type { IncomingMessage } from 'node:http';
import { type FieldProblem, invalidInput, Problem } from '../problem.ts';
import type { StoredBytes, UploadFiles } from '../store/upload-files.ts';
import type { UploadRecord } from '../store/uploads.ts';
import { type Part, readParts } from './parts.ts';

/** The field that the file is in. */
const FILE_FIELD = 'file';

/** What a body may hold besides its file: boundaries, headers and the other fields. */
const MAX_AROUND = 64 * 1024;

const MAX_FIELDS = 100;

/** The boundary of a multipart body, or undefined for another content type. @throws Problem 400 when it is not named or too long. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType ?? '')) return undefined;
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))/i.exec(contentType ?? '') ?? [];
  const boundary = quoted ?? bare;
  if (boundary !== undefined) return boundary;
  throw new Problem(400, 'malformed_multipart', 'The Content-Type names no boundary of 1 to 70 characters.');
}

function tooLarge(what: string, maxBytes: number): Problem {
  return new Problem(413, 'body_too_large', `${what} larger than ${maxBytes} bytes.`);
}

async function* atMost(maxBytes: number, what: string, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(what, maxBytes);
    yield chunk;
  }
}

/** What is wrong with a part that is a file, or undefined. */
function fileProblem(part: Part, isSecond: boolean): FieldProblem | undefined {
  if (part.name !== FILE_FIELD)
    return { path: part.name, message: `must not be a file; the file goes in ${FILE_FIELD}` };
  if (isSecond) return { path: FILE_FIELD, message: 'must be there once' };
  if (part.filename === '') return { path: FILE_FIELD, message: 'must have a filename' };
  return undefined;
}

type ReceivedForm = Pick<UploadRecord, 'filename' | 'content_type' | 'fields'> & StoredBytes;

/** The parts of one form, as they come. */
class FormReader {
  readonly #store: (body: AsyncIterable<Buffer>) => Promise<StoredBytes>;
  readonly #maxBytes: number;
  readonly #fields: [string, string][] = [];
  #fieldBytes = 0;
  #file: { readonly part: Part; readonly stored: StoredBytes } | undefined;
  #hasFile = false;

  constructor(store: (body: AsyncIterable<Buffer>) => Promise<StoredBytes>, maxBytes: number) {
    this.#store = store;
    this.#maxBytes = maxBytes;
  }

  async take(part: Part): Promise<void> {
    if (part.filename === undefined) return this.#takeField(part);
    const problem = fileProblem(part, this.#hasFile);
    if (problem) throw invalidInput([problem]);
    // Known at once: while this file is put on disk the next part may come.
    this.#hasFile = true;
    this.#file = { part, stored: await this.#store(atMost(this.#maxBytes, 'The file is', part.body)) };
  }

  /** The whole form. @throws Problem 422 when there is no file in it. */
  result(): ReceivedForm {
    if (!this.#file) throw invalidInput([{ path: FILE_FIELD, message: 'is required, as a file' }]);
    const { part, stored } = this.#file;
    return {
      filename: part.filename ?? '',
      content_type: part.contentType ?? 'application/octet-stream',
      fields: this.#fields,
      ...stored,
    };
  }

  async #takeField({ name, body }: Part): Promise<void> {
    if (name === FILE_FIELD) throw invalidInput([{ path: FILE_FIELD, message: 'must be a file, with a filename' }]);
    if (this.#fields.length === MAX_FIELDS) {
      throw invalidInput([{ path: '', message: `must have at most ${MAX_FIELDS} fields besides ${FILE_FIELD}` }]);
    }
    const field: [string, string] = [name, ''];
    this.#fields.push(field);
    const chunks: Buffer[] = [];
    for await (const chunk of body) {
      this.#fieldBytes += chunk.length;
      if (this.#fieldBytes > MAX_AROUND) throw tooLarge('The fields are', MAX_AROUND);
      chunks.push(chunk);
    }
    field[1] = Buffer.concat(chunks).toString('utf8');
  }
}

/**
 * Receives a form with one file in the field `file` (the spec leaves it open, §4.7); its memory does not depend on the size of the file.
 * @param id where the file is stored.
 * @param maxBytes the largest file. A declared length that no such file can have is refused before anything is read.
 * @throws Problem 400 for a body that is no form or ends early, 413 for one that is too large, 422 for other fields
 * than those that are due. Nothing of the file is left then.
 */
export async function receiveForm(
  incoming: IncomingMessage,
  boundary: string,
  { files, id, maxBytes }: { readonly files: UploadFiles; readonly id: string; readonly maxBytes: number },
): Promise<ReceivedForm> {
  if (Number(incoming.headers['content-length'] ?? 0) > maxBytes + MAX_AROUND) throw tooLarge('The file is', maxBytes);
  const form = new FormReader((body) => files.write(id, body), maxBytes);
  try {
    await readParts(incoming, boundary, maxBytes + MAX_AROUND, (part) => form.take(part));
    return form.result();
  } catch (error) {
    await files.remove([id]);
    throw error;
  }
}
