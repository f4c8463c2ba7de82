import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import * as v from 'valibot';
import type { Files } from './files.ts';
import { invalidInput, nonBlank, Problem, readBody } from './input.ts';
import { pageOf } from './pages.ts';
import { attachmentSchema, documentSchema, type Upload } from './resources.ts';
import { createId, type Operation, type Service, type ServiceContext, timestamp } from './service.ts';
import { settingsOf } from './store.ts';

const documentBody = v.strictObject({ name: nonBlank(1_000), content: v.string() });

type ReceivedUpload = Pick<Upload, 'filename' | 'content_type' | 'fields' | 'bytes' | 'sha256'>;

function tooLarge(maxBytes: number): Problem {
  return new Problem(413, 'body_too_large', `The file is larger than ${maxBytes} bytes.`);
}

function malformed(reason: string): Problem {
  return new Problem(400, 'malformed_multipart', `The body is not valid multipart/form-data: ${reason}.`);
}

function createParser(contentType: string, maxBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      preservePath: true,
      isPartAFile: (_name, _type, filename) => filename !== undefined,
      limits: { files: 1, fileSize: maxBytes },
    });
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
}

/** Decodes the three characters that clients escape in names (HTML, "multipart/form-data"). */
function unescapeName(name: string): string {
  return name.replace(/%22/g, '"').replace(/%0D/gi, '\r').replace(/%0A/gi, '\n');
}

/** The fields of a form by name; a repeated one is a list. */
function groupFields(fields: readonly (readonly [name: string, value: string])[]): Upload['fields'] {
  const values = new Map<string, string | string[]>();
  for (const [name, value] of fields) {
    const earlier = values.get(name);
    values.set(name, earlier === undefined ? value : [earlier, value].flat());
  }
  return Object.fromEntries(values);
}

/** Parses a form as its bytes arrive. @param onFile gets the file @throws Problem for the first error */
function parseForm(
  incoming: IncomingMessage,
  parser: BusboyInstance,
  maxBytes: number,
  onFile: (body: BusboyFileStream, filename: string, contentType: string) => Promise<unknown>,
): Promise<Upload['fields']> {
  return new Promise((resolve, reject) => {
    const refuse = (path: string, message: string): void => reject(invalidInput([{ path, message }]));
    const fields: [string, string][] = [];
    parser.on('error', () => reject(malformed('it ends before its last boundary')));
    parser.on('filesLimit', () => refuse('file', 'must appear only once'));
    parser.on('field', (name, value) => {
      // A part may have no name, although the library's types say otherwise.
      if (name === undefined) reject(malformed('a field has no name'));
      else if (name === 'file') refuse(name, 'must be a file, with a filename');
      else fields.push([unescapeName(name), value]);
    });
    parser.on('file', (...[name, body, filename, , contentType]) => {
      body.on('limit', () => reject(tooLarge(maxBytes)));
      body.on('error', () => reject(malformed('it ends before its last boundary')));
      if (name !== 'file') refuse(name ?? '', 'is not a known field for a file: it must be in file');
      else if (filename === '') refuse(name, 'must have a filename');
      else onFile(body, unescapeName(filename), contentType).catch(reject);
    });
    const incomplete = new Problem(400, 'incomplete_body', 'The connection ended before the body did.');
    const complete = finished(incoming, { writable: false }).catch(() => Promise.reject(incomplete));
    Promise.all([once(parser, 'finish'), complete]).then(() => resolve(groupFields(fields)), reject);
    incoming.pipe(parser);
  });
}

/** Receives a form with one file, in the field `file`, in constant memory. @throws Problem 400, 413, or 422 */
async function receiveForm(
  incoming: IncomingMessage,
  files: Files,
  id: string,
  maxBytes: number,
): Promise<ReceivedUpload> {
  const parser = createParser(incoming.headers['content-type'] ?? '', maxBytes);
  let file: BusboyFileStream | undefined;
  let storing: Promise<Omit<ReceivedUpload, 'fields'>> | undefined;
  try {
    const fields = await parseForm(incoming, parser, maxBytes, (body, filename, content_type) => {
      file = body;
      // A disk error must not destroy the body: the body's own error would hide it.
      const chunks = body.iterator({ destroyOnReturn: false });
      storing = files.write(id, chunks).then((stored) => ({ filename, content_type, ...stored }));
      return storing;
    });
    const stored = await storing;
    if (!stored) throw invalidInput([{ path: 'file', message: 'is required, as a file' }]);
    return { ...stored, fields };
  } catch (error) {
    // Stop reading, so that the error response can be sent before the body is complete.
    incoming.unpipe(parser);
    if (!incoming.readableEnded) incoming.pause();
    file?.destroy(new Error('The form was refused.'));
    await storing?.then(() => files.remove([id])).catch(() => undefined);
    throw error;
  }
}

async function receive({ store }: Service, c: ServiceContext, as: Upload['as'], id: string): Promise<ReceivedUpload> {
  const { incoming } = c.env;
  const settings = settingsOf(store);
  const maxBytes = as === 'document' ? settings.max_document_bytes : settings.max_file_attachment_bytes;
  if (/^multipart\/form-data\s*(;|$)/i.test(incoming.headers['content-type'] ?? '')) {
    const received = await receiveForm(incoming, store.files, id, maxBytes);
    await c.get('onBodyReceived')?.();
    return received;
  }
  if (as === 'file_attachment') {
    throw new Problem(415, 'unsupported_media_type', 'The body must be sent with Content-Type: multipart/form-data.');
  }
  const { name, content } = await readBody(c, documentBody);
  if (Buffer.byteLength(content) > maxBytes) throw tooLarge(maxBytes);
  const stored = await store.files.write(id, [Buffer.from(content)]);
  return { filename: name, content_type: 'text/plain; charset=utf-8', fields: {}, ...stored };
}

/** A document or a file attachment as the service returns it. */
export function toPublicUpload({ upload_id, as, filename, ...file }: Upload) {
  if (as === 'document') return { document_id: upload_id, name: filename, ...file };
  return { file_attachment_id: upload_id, filename, ...file };
}

/**
 * Documents and file attachments (spec §4, endpoints 7 and 8). The spec leaves them open (§4.7): here the file comes as the form
 * field `file`, other fields are stored as given, and a document may also be JSON. Creation is not idempotent: the same file again creates another one.
 */
export function uploadOperations(service: Service): Operation[] {
  return [
    ...operationsOf(service, 'document', '/automation/documents/'),
    ...operationsOf(service, 'file_attachment', '/automation/file-attachments/'),
  ];
}

function operationsOf(service: Service, as: Upload['as'], path: string): Operation[] {
  const { uploads } = service.store;
  const isDocument = as === 'document';
  const [name, words] = isDocument ? ['Document', 'document'] : ['FileAttachment', 'file attachment'];
  const returns = isDocument ? documentSchema : attachmentSchema;
  return [
    {
      id: `list${name}s`,
      method: 'GET',
      path,
      scope: `${as}s.read`,
      summary: `Lists the ${words}s.`,
      returns,
      list: 'counted',
      handle: (c) => c.json(pageOf(service, c, uploads.in(as), toPublicUpload)),
    },
    {
      id: `upload${name}`,
      method: 'POST',
      path,
      scope: `${as}s.write`,
      summary: `Uploads a ${words}. The same file again creates another one.`,
      takesFile: true,
      ...(isDocument && { body: documentBody }),
      returns,
      statuses: [201],
      handle: async (c) => {
        const upload_id = createId(isDocument ? 'doc' : 'att');
        const received = await receive(service, c, as, upload_id);
        const entry = c.get('entry');
        if (entry) entry.body = { bytes: received.bytes, sha256: received.sha256 };
        const upload: Upload = { upload_id, as, ...received, created_at: timestamp(service) };
        // After the file: a crash must not leave a record without its file.
        uploads.put(upload);
        return c.json(toPublicUpload(upload), 201);
      },
    },
  ];
}
