import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { Busboy, type BusboyFileStream } from '@fastify/busboy';
import type { Files } from './files.ts';
import { invalidInput, Problem } from './input.ts';
import { pageOf } from './pages.ts';
import { attachmentSchema, documentSchema, type Upload } from './resources.ts';
import { createId, type Operation, timestamp } from './service.ts';

type ReceivedUpload = Pick<Upload, 'filename' | 'content_type' | 'fields' | 'bytes' | 'sha256'>;

/** Receives a form with one file, in the field `file`, in constant memory. @throws Problem 400 or 422 */
async function receiveForm(incoming: IncomingMessage, files: Files, id: string): Promise<ReceivedUpload> {
  const fields: [string, string][] = [];
  let file: BusboyFileStream | undefined;
  let storing: Promise<Omit<ReceivedUpload, 'fields'>> | undefined;
  try {
    const parser = new Busboy({
      headers: { 'content-type': incoming.headers['content-type'] ?? '' },
      preservePath: true,
      isPartAFile: (_name, _type, filename) => filename !== undefined,
      limits: { files: 1 },
    });
    const refuse = (path: string, message: string): void => {
      parser.destroy(invalidInput([{ path, message }]));
    };
    parser.on('field', (name, value) => fields.push([name, value]));
    parser.on('filesLimit', () => refuse('file', 'must appear only once'));
    parser.on('file', (...[name, body, filename, , content_type]) => {
      if (name !== 'file') refuse(name, 'must not be a file: it must be in file');
      file = body;
      // Nothing reads the body before the file is open.
      body.on('error', (error) => parser.destroy(error));
      storing = files.write(id, body).then((stored) => ({ filename, content_type, ...stored }));
      storing.catch((error) => parser.destroy(error));
    });
    // An error after the first one changes nothing.
    parser.on('error', () => undefined);
    incoming.pipe(parser);
    await Promise.all([once(parser, 'finish'), finished(incoming, { writable: false })]);
    const stored = await storing;
    if (!stored) throw invalidInput([{ path: 'file', message: 'is required, as a file' }]);
    return { ...stored, fields };
  } catch (error) {
    // Stop reading, so that the error response can be sent before the body is complete.
    incoming.unpipe();
    file?.destroy(new Error('The form was refused.'));
    await storing?.then(() => files.remove(id)).catch(() => undefined);
    if (error instanceof Problem) throw error;
    throw new Problem(400, 'malformed_multipart', `The body cannot be received as multipart/form-data: ${error}.`);
  }
}

/** A document or a file attachment as the service returns it. */
export function toPublicUpload({ upload_id, as, filename, ...file }: Upload) {
  if (as === 'document') return { document_id: upload_id, name: filename, ...file };
  return { file_attachment_id: upload_id, filename, ...file };
}

function operationsOf(as: Upload['as'], path: string): readonly Operation[] {
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
      handle: (service, c) => c.json(pageOf(service, c, service.store.uploads.in(as).map(toPublicUpload))),
    },
    {
      id: `upload${name}`,
      method: 'POST',
      path,
      scope: `${as}s.write`,
      summary: `Uploads a ${words}. The same file again creates another one.`,
      takesFile: true,
      returns,
      handle: async (service, c) => {
        const upload_id = createId(isDocument ? 'doc' : 'att');
        const { incoming } = c.env;
        if (!/^multipart\/form-data\s*(;|$)/i.test(incoming.headers['content-type'] ?? '')) {
          throw new Problem(415, 'unsupported_media_type', 'The body must be sent as multipart/form-data.');
        }
        const received = await receiveForm(incoming, service.store.files, upload_id);
        await c.get('onBodyReceived')?.();
        const entry = c.get('entry');
        if (entry) entry.body = { bytes: received.bytes, sha256: received.sha256 };
        const upload: Upload = { upload_id, as, ...received, created_at: timestamp(service) };
        // After the file: a crash must not leave a record without its file.
        service.store.uploads.put(upload);
        return c.json(toPublicUpload(upload), 201);
      },
    },
  ];
}

/**
 * Documents and file attachments (spec §4, endpoints 7 and 8). The spec leaves them open (§4.7): here the file comes as
 * the form field `file`, and other fields are stored as given. Creation is not idempotent: the same file again creates
 * another one.
 */
export const UPLOAD_OPERATIONS: readonly Operation[] = [
  ...operationsOf('document', '/automation/documents/'),
  ...operationsOf('file_attachment', '/automation/file-attachments/'),
];
