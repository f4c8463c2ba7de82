import * as v from 'valibot';
import { isJson, readBody } from '../body.ts';
import { makeId } from '../ids.ts';
import { pageOf } from '../paging.ts';
import { Problem } from '../problem.ts';
import type { Scope } from '../scopes.ts';
import { type Route, type Service, type ServiceContext, timestamp } from '../service.ts';
import { closed, filledText } from '../shapes.ts';
import type { UploadKind, UploadRecord } from '../store/uploads.ts';
import { boundaryOf, receiveForm } from '../uploads/form.ts';

/** The largest JSON body of a document: it is read into memory. */
const MAX_JSON_DOCUMENT = 16 * 1024 * 1024;

const documentSchema = closed({
  name: filledText(1_000),
  content: v.pipe(
    v.string(),
    v.check((text) => text.isWellFormed(), 'must be well-formed Unicode'),
  ),
});

interface Endpoint {
  readonly as: UploadKind;
  readonly path: string;
  readonly read: Scope;
  readonly write: Scope;
  readonly prefix: string;
  readonly limit: 'max_document_bytes' | 'max_file_attachment_bytes';
}

const DOCUMENTS: Endpoint = {
  as: 'document',
  path: '/automation/documents/',
  read: 'documents.read',
  write: 'documents.write',
  prefix: 'doc',
  limit: 'max_document_bytes',
};

const ATTACHMENTS: Endpoint = {
  as: 'file_attachment',
  path: '/automation/file-attachments/',
  read: 'file_attachments.read',
  write: 'file_attachments.write',
  prefix: 'att',
  limit: 'max_file_attachment_bytes',
};

/** Fields by name; one that came more than once is the list of its values. */
function publicFields(fields: UploadRecord['fields']): Record<string, string | string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of fields) values.set(name, [...(values.get(name) ?? []), value]);
  const shown = [...values].map(([name, [first = '', ...more]]) => [name, more.length > 0 ? [first, ...more] : first]);
  return Object.fromEntries(shown);
}

/** A document or a file attachment as the service shows it. */
export function publicUpload({
  upload_id,
  as,
  filename,
  content_type,
  bytes,
  sha256,
  fields,
  created_at,
}: UploadRecord) {
  const identity =
    as === 'document' ? { document_id: upload_id, name: filename } : { file_attachment_id: upload_id, filename };
  return { ...identity, content_type, bytes, sha256, fields: publicFields(fields), created_at };
}

type Received = Pick<UploadRecord, 'filename' | 'content_type' | 'fields' | 'bytes' | 'sha256'>;

/** A document out of a JSON body; what it says is a text file. */
async function receiveText(service: Service, c: ServiceContext, id: string, maxBytes: number): Promise<Received> {
  const { name, content } = await readBody(c, documentSchema, { maxBytes: MAX_JSON_DOCUMENT, isLogged: false });
  const bytes = Buffer.from(content, 'utf8');
  if (bytes.length > maxBytes) {
    throw new Problem(413, 'body_too_large', `The content is larger than ${maxBytes} bytes.`);
  }
  try {
    const stored = await service.store.files.write(id, [bytes]);
    return { filename: name, content_type: 'text/plain; charset=utf-8', fields: [], ...stored };
  } catch (error) {
    await service.store.files.remove([id]);
    throw error;
  }
}

function receive(service: Service, c: ServiceContext, { as, limit }: Endpoint, id: string): Promise<Received> {
  const { incoming } = c.env;
  const type = incoming.headers['content-type'];
  const { files, world } = service.store;
  const maxBytes = world.settings[limit];
  if (as === 'document' && isJson(type)) return receiveText(service, c, id, maxBytes);
  const boundary = boundaryOf(type);
  if (boundary !== undefined) return receiveForm(incoming, boundary, { files, id, maxBytes });
  const wanted = as === 'document' ? 'multipart/form-data or application/json' : 'multipart/form-data';
  throw new Problem(415, 'unsupported_media_type', `The body must be sent with Content-Type: ${wanted}.`);
}

async function create(service: Service, c: ServiceContext, endpoint: Endpoint): Promise<Response> {
  const { store } = service;
  const upload_id = makeId(endpoint.prefix);
  const received = await receive(service, c, endpoint, upload_id);
  const entry = c.get('entry');
  if (entry) entry.body = { bytes: received.bytes, sha256: received.sha256 };
  const upload: UploadRecord = { upload_id, as: endpoint.as, ...received, created_at: timestamp(service) };
  try {
    // The file is on disk: no crash can leave the record without it.
    store.commit({ kind: 'upload', upload });
  } catch (error) {
    await store.files.remove([upload_id]);
    throw error;
  }
  return c.json(publicUpload(upload), 201);
}

function show(service: Service, c: ServiceContext, { as }: Endpoint): Response {
  const id = c.req.param('id') ?? '';
  const upload = service.store.world.uploads.get(id);
  if (upload?.as === as) return c.json(publicUpload(upload));
  throw new Problem(404, `${as}_not_found`, `There is no ${as.replace('_', ' ')} ${id}.`);
}

/**
 * POST and GET /automation/documents/ and /automation/file-attachments/ (spec §4, endpoints 7 and 8), and GET of one of
 * them by its id. The spec leaves them open (§4.7): here the file comes as the field `file` of a form, other fields are
 * kept as given, and a document may also be JSON, `{name, content}`. Creation is not idempotent: the same file again
 * makes another one.
 */
export function uploadRoutes(service: Service): Route[] {
  return [DOCUMENTS, ATTACHMENTS].flatMap((endpoint): Route[] => {
    const { path, read, write, as } = endpoint;
    const list = (c: ServiceContext) => pageOf(service, c, service.store.world.uploads.ofKind(as), publicUpload);
    return [
      { method: 'POST', path, scope: write, handle: (c) => create(service, c, endpoint) },
      { method: 'GET', path, scope: read, handle: (c) => c.json(list(c)) },
      { method: 'GET', path: `${path}:id/`, scope: read, handle: (c) => show(service, c, endpoint) },
    ];
  });
}
