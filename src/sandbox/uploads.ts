import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import * as v from 'valibot';
import { invalidInput, Problem } from './input.ts';
import { listQuery, pageOf, pageSchema } from './pages.ts';
import { ROUTES, type Route } from './routes.ts';
import { createId, fileSchema, type Upload } from './rows.ts';
import { noteBody, type Operation } from './service.ts';

type ReceivedFile = Omit<v.InferOutput<typeof fileSchema>, 'created_at'>;

async function measure(content: AsyncIterable<Uint8Array>): Promise<Pick<Upload, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of content) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** Receives a form with a file in the field `file`, in constant memory. @throws Problem 400, 415, or 422 */
async function receiveFile(incoming: IncomingMessage): Promise<ReceivedFile> {
  const type = incoming.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) {
    throw new Problem(415, 'unsupported_media_type', 'The body must be sent as multipart/form-data.');
  }
  let receiving: Promise<ReceivedFile> | undefined;
  try {
    const parser = new Busboy({
      headers: { 'content-type': type },
      preservePath: true,
      isPartAFile: (name, _type, filename) => name === 'file' && filename !== undefined,
      limits: { files: 1 },
    });
    parser.on('file', (...[, content, filename, , content_type]) => {
      receiving = measure(content).then((measured) => ({ filename, content_type, ...measured }));
      receiving.catch((error) => parser.destroy(error));
    });
    // An error after the first one changes nothing.
    parser.on('error', () => undefined);
    incoming.pipe(parser);
    await Promise.all([once(parser, 'finish'), finished(incoming, { writable: false })]);
    const received = await receiving;
    if (received) return received;
  } catch (error) {
    // Stop reading, so that the error response can be sent before the body is complete.
    incoming.unpipe();
    throw new Problem(400, 'malformed_multipart', `The body cannot be received as multipart/form-data: ${error}.`);
  }
  throw invalidInput([{ path: 'file', message: 'is required, as a file' }]);
}

/** A document or a file attachment as the service returns it. */
export function toPublicUpload({ upload_id, as, ...file }: Upload) {
  return { [`${as}_id`]: upload_id, ...file };
}

function operationsOf(as: Upload['as'], list: Route, upload: Route): readonly Operation[] {
  const returns = v.object({ [`${as}_id`]: v.string(), ...fileSchema.entries });
  return [
    {
      ...list,
      query: listQuery,
      returns: pageSchema(returns),
      handle: (service, c) => c.json(pageOf(service, c, service.store.uploads.in({ as }).map(toPublicUpload))),
    },
    {
      ...upload,
      body: 'file',
      returns,
      handle: async ({ store, clock }, c) => {
        const received = await receiveFile(c.env.incoming);
        await noteBody(c, { bytes: received.bytes, sha256: received.sha256 });
        const upload_id = createId(as === 'document' ? 'doc' : 'att');
        const created: Upload = { upload_id, as, ...received, created_at: clock.timestamp() };
        store.uploads.put(created);
        return c.json(toPublicUpload(created), 201);
      },
    },
  ];
}

/**
 * Documents and file attachments (spec §4, endpoints 7 and 8). The spec leaves them open (§4.7): here the file comes as
 * the form field `file`, and other fields are ignored. The same file again creates another one.
 */
export const UPLOAD_OPERATIONS: readonly Operation[] = [
  ...operationsOf('document', ROUTES.listDocuments, ROUTES.uploadDocument),
  ...operationsOf('file_attachment', ROUTES.listAttachments, ROUTES.uploadAttachment),
];
