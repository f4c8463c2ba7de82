import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { type FieldProblem, invalidInput, Problem } from './problem.ts';
import { watchForPause } from './request-body.ts';
import type { Upload } from './store/changes.ts';
import type { StoredBytes, UploadFiles } from './store/upload-files.ts';

/** How large everything but the file may be: boundaries, headers, and other fields. In bytes. */
const MAX_OVERHEAD = 64 * 1024;

const MAX_FIELDS = 100;

const FILE_REQUIRED = 'must be a file, with a filename';

type ReceivedForm = Pick<Upload, 'filename' | 'content_type' | 'fields'> & StoredBytes;

interface UploadTarget {
  readonly files: UploadFiles;
  /** Where the file is stored. */
  readonly id: string;
  /** The form field that holds the file. */
  readonly fileField: string;
  /** The largest file. */
  readonly maxBytes: number;
  /** How long the client may pause, in milliseconds. */
  readonly clientTimeoutMs: number;
}

function tooLarge(what: string, maxBytes: number): Problem {
  return new Problem(413, 'body_too_large', `${what} larger than ${maxBytes} bytes.`);
}

function malformed(reason: string): Problem {
  return new Problem(400, 'malformed_multipart', `The body is not valid multipart/form-data: ${reason}.`);
}

/** Whether a content type is multipart/form-data. */
export function isMultipart(contentType: string | undefined): boolean {
  return /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '');
}

function createParser(contentType: string, maxBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      preservePath: true,
      isPartAFile: (_name, _type, filename) => filename !== undefined,
      limits: { files: 1, fileSize: maxBytes, fields: MAX_FIELDS, fieldSize: MAX_OVERHEAD },
    });
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
}

/** Decodes the three characters that browsers escape in names (HTML, "multipart/form-data"). */
function unescapeName(name: string): string {
  return name.replace(/%22/g, '"').replace(/%0D/gi, '\r').replace(/%0A/gi, '\n');
}

function fileProblem(fileField: string, name: string | undefined, filename: string): FieldProblem | undefined {
  if (name !== fileField)
    return { path: name ?? '', message: `is not a known field for a file: it must be in ${fileField}` };
  if (filename === '') return { path: fileField, message: 'must have a filename' };
  return undefined;
}

/** Receives one form: collects its fields, and stores its file. */
class FormReceiver {
  readonly #target: UploadTarget;
  readonly #parser: BusboyInstance;
  readonly #fields: [string, string][] = [];
  #body: BusboyFileStream | undefined;
  #storing: Promise<Omit<ReceivedForm, 'fields'>> | undefined;

  constructor(contentType: string, target: UploadTarget) {
    this.#target = target;
    this.#parser = createParser(contentType, target.maxBytes);
  }

  /** @throws Problem for the first error, after removing the file */
  async receive(incoming: IncomingMessage): Promise<ReceivedForm> {
    try {
      await this.#parse(incoming);
      const file = await this.#storing;
      if (!file) throw invalidInput([{ path: this.#target.fileField, message: 'is required, as a file' }]);
      return { ...file, fields: this.#fields };
    } catch (error) {
      // Stop reading, so that the error response can be sent before the body is complete.
      incoming.unpipe(this.#parser);
      if (!incoming.readableEnded) incoming.pause();
      this.#body?.destroy(new Error('The form was refused.'));
      await this.#storing?.then(() => this.#target.files.remove([this.#target.id])).catch(() => undefined);
      throw error;
    } finally {
      incoming.setTimeout(0);
    }
  }

  /** Resolves when both the form and the body are complete. */
  #parse(incoming: IncomingMessage): Promise<void> {
    const { maxBytes, clientTimeoutMs, fileField } = this.#target;
    return new Promise((resolve, reject) => {
      watchForPause(incoming, clientTimeoutMs, reject);
      let received = 0;
      incoming.on('data', (chunk: Buffer) => {
        received += chunk.length;
        if (received > maxBytes + MAX_OVERHEAD) reject(tooLarge('The body is', maxBytes + MAX_OVERHEAD));
      });
      this.#parser.on('error', () => reject(malformed('it ends before its last boundary')));
      this.#parser.on('filesLimit', () =>
        reject(invalidInput([{ path: fileField, message: 'must appear only once' }])),
      );
      this.#parser.on('fieldsLimit', () => {
        const message = `must have at most ${MAX_FIELDS} fields besides ${fileField}`;
        reject(invalidInput([{ path: '', message }]));
      });
      this.#parser.on('field', (name, value, _nameTruncated, valueTruncated) => {
        // A part may have no name, although the library's types say otherwise.
        if (name === undefined) reject(malformed('a field has no name'));
        else if (valueTruncated) reject(tooLarge('The fields are', MAX_OVERHEAD));
        else if (name === fileField) reject(invalidInput([{ path: name, message: FILE_REQUIRED }]));
        else this.#fields.push([unescapeName(name), value]);
      });
      this.#parser.on('file', (...[name, body, filename, , content_type]) => {
        const problem = fileProblem(fileField, name, filename);
        if (problem) reject(invalidInput([problem]));
        else this.#store(body, { filename: unescapeName(filename), content_type }, reject);
      });
      const incomplete = new Problem(400, 'incomplete_body', 'The connection ended before the body did.');
      const parsed = once(this.#parser, 'finish');
      const complete = finished(incoming, { writable: false }).catch(() => Promise.reject(incomplete));
      Promise.all([parsed, complete]).then(() => resolve(), reject);
      incoming.pipe(this.#parser);
    });
  }

  #store(
    body: BusboyFileStream,
    description: Pick<Upload, 'filename' | 'content_type'>,
    refuse: (problem: Error) => void,
  ): void {
    const { files, id, maxBytes } = this.#target;
    body.on('limit', () => refuse(tooLarge('The file is', maxBytes)));
    body.on('error', () => refuse(malformed('it ends before its last boundary')));
    this.#body = body;
    // A disk error must not destroy the body: the body's own error would hide it.
    const chunks = body.iterator({ destroyOnReturn: false });
    this.#storing = files.write(id, chunks).then((stored) => ({ ...description, ...stored }));
    this.#storing.catch(refuse);
  }
}

/**
 * Receives a form with one file in one field (spec §4.7 leaves the name open), in constant memory. Refuses a
 * Content-Length that is too large before reading anything.
 * @throws Problem 400 for a body that is not a form or ends early, 413 for one that is too large, 422 for a missing file,
 * a second one, or wrong fields
 */
export async function receiveForm(incoming: IncomingMessage, target: UploadTarget): Promise<ReceivedForm> {
  const { 'content-type': contentType = '', 'content-length': length = 0 } = incoming.headers;
  if (Number(length) > target.maxBytes + MAX_OVERHEAD) throw tooLarge('The file is', target.maxBytes);
  return new FormReceiver(contentType, target).receive(incoming);
}
