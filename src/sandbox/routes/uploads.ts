import * as v from 'valibot';
import { requireScope } from '../auth.ts';
import { isMultipart, receiveForm } from '../multipart.ts';
import { pageOf } from '../paging.ts';
import { Problem } from '../problem.ts';
import { isJson, readBody } from '../request-body.ts';
import { createId, type Service, type ServiceApp, type ServiceContext, timestamp } from '../service.ts';
import type { Scope, Upload, UploadKind } from '../store/changes.ts';
import { closedObject, nonBlankText } from '../validation.ts';

/** A JSON document is read into memory. */
const MAX_JSON_DOCUMENT_BYTES = 16 * 1024 * 1024;

const documentSchema = closedObject({
  name: nonBlankText(1_000),
  content: v.pipe(
    v.string(),
    v.check((text) => text.isWellFormed(), 'must be well-formed Unicode'),
  ),
});

interface UploadEndpoint {
  readonly as: UploadKind;
  readonly path: string;
  readonly read: Scope;
  readonly write: Scope;
  readonly idPrefix: string;
  readonly limit: 'max_document_bytes' | 'max_file_attachment_bytes';
}

const ENDPOINTS: readonly UploadEndpoint[] = [
  {
    as: 'document',
    path: '/automation/documents/',
    read: 'documents.read',
    write: 'documents.write',
    idPrefix: 'doc',
    limit: 'max_document_bytes',
  },
  {
    as: 'file_attachment',
    path: '/automation/file-attachments/',
    read: 'file_attachments.read',
    write: 'file_attachments.write',
    idPrefix: 'att',
    limit: 'max_file_attachment_bytes',
  },
];

/** Fields by name; the value of a repeated one is a list. */
function toPublicFields(fields: Upload['fields']): Record<string, string | string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of fields) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries(
    [...values].map(([name, [first = '', ...more]]) => [name, more.length > 0 ? [first, ...more] : first]),
  );
}

/** The public form of a document or a file attachment. */
export function toPublicUpload(upload: Upload) {
  const { upload_id, as, filename, content_type, bytes, sha256, fields, created_at } = upload;
  const identity =
    as === 'document' ? { document_id: upload_id, name: filename } : { file_attachment_id: upload_id, filename };
  return { ...identity, content_type, bytes, sha256, fields: toPublicFields(fields), created_at };
}

type ReceivedUpload = Pick<Upload, 'filename' | 'content_type' | 'fields' | 'bytes' | 'sha256'>;

/** Receives a document as JSON; its content becomes a text file. */
async function receiveText(service: Service, c: ServiceContext, id: string, maxBytes: number): Promise<ReceivedUpload> {
  const { name, content } = await readBody(c, documentSchema, { maxBytes: MAX_JSON_DOCUMENT_BYTES, isLogged: false });
  const bytes = Buffer.from(content, 'utf8');
  if (bytes.length > maxBytes) {
    throw new Problem(413, 'body_too_large', `The content is larger than ${maxBytes} bytes.`);
  }
  const stored = await service.store.files.write(id, [bytes]);
  return { filename: name, content_type: 'text/plain; charset=utf-8', fields: [], ...stored };
}

async function receive(
  service: Service,
  c: ServiceContext,
  { as, limit }: UploadEndpoint,
  id: string,
): Promise<ReceivedUpload> {
  const { incoming } = c.env;
  const type = incoming.headers['content-type'];
  const { files, world } = service.store;
  const maxBytes = world.settings[limit];
  if (as === 'document' && isJson(type)) return receiveText(service, c, id, maxBytes);
  if (isMultipart(type)) {
    const fileField = c.env.shaped?.fileField ?? 'file';
    const clientTimeoutMs = c.get('clientTimeoutMs');
    const form = await receiveForm(incoming, { files, id, fileField, maxBytes, clientTimeoutMs });
    await c.get('onBodyReceived')?.();
    return form;
  }
  const accepted = as === 'document' ? 'multipart/form-data or application/json' : 'multipart/form-data';
  throw new Problem(415, 'unsupported_media_type', `The body must be sent with Content-Type: ${accepted}.`);
}

async function create(service: Service, c: ServiceContext, endpoint: UploadEndpoint): Promise<Response> {
  const upload_id = createId(endpoint.idPrefix);
  const received = await receive(service, c, endpoint, upload_id);
  const entry = c.get('entry');
  if (entry) entry.body = { bytes: received.bytes, sha256: received.sha256 };
  const upload: Upload = { upload_id, as: endpoint.as, ...received, created_at: timestamp(service) };
  // After the file: a crash must not leave a record without its file.
  service.store.commit({ kind: 'upload', upload });
  return c.json(toPublicUpload(upload), 201);
}

/**
 * POST and GET /automation/documents/ and /automation/file-attachments/ (spec §4, endpoints 7 and 8), and GET of one of
 * them by its id. The spec leaves them open (§4.7): here the file comes as the form field `file`, other fields are stored
 * as given, and a document may also be JSON, `{name, content}`. Creation is not idempotent: the same file again creates
 * another one.
 */
export function addUploadRoutes(app: ServiceApp, service: Service): void {
  const { uploads } = service.store.world;
  for (const endpoint of ENDPOINTS) {
    const { as, path, read, write } = endpoint;
    app.post(path, requireScope(write), (c) => create(service, c, endpoint));
    app.get(path, requireScope(read), (c) => {
      const ofKind = [...uploads.values()].filter((upload) => upload.as === as);
      return c.json(pageOf(service, c, ofKind, { toPublic: toPublicUpload }));
    });
    app.get(`${path}:id/`, requireScope(read), (c) => {
      const id = c.req.param('id') ?? '';
      const upload = uploads.get(id);
      if (upload?.as === as) return c.json(toPublicUpload(upload));
      throw new Problem(404, `${as}_not_found`, `There is no ${as.replace('_', ' ')} ${id}.`);
    });
  }
}
