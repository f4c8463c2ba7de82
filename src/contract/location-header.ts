import type { OperationLeaf } from './leaves.ts';

/** The id that each write returns, and the last path segment of the collection of its resource. */
const CREATED: { readonly [operation in OperationLeaf]?: readonly [id: string, collection: RegExp] } = {
  'spaces.provision': ['space_id', /spaces?$/],
  'sources.setup': ['source_id', /(sources?|chats?)$/],
  'messages.send': ['message_id', /messages?$/],
  'cron_jobs.create': ['cron_job_id', /jobs?$/],
  'documents.create': ['document_id', /(documents?|files?)$/],
  'file_attachments.create': ['file_attachment_id', /(attachments?|files?)$/],
};

/**
 * Reads the response to a write that has a Location header in place of a body. Its last segment is the id of the new
 * resource.
 * @param url of the request: the location must have the same origin
 * @returns a body with the id; undefined if the location is not that of such a resource
 */
export function bodyOfLocation(
  location: string | undefined,
  operation: OperationLeaf,
  url: string,
): { readonly [id: string]: string } | undefined {
  const [id, collection] = CREATED[operation] ?? [];
  if (location === undefined || id === undefined || !URL.canParse(location, url)) return undefined;
  const target = new URL(location, url);
  if (target.origin !== new URL(url).origin) return undefined;
  const [parent = '', last = ''] = target.pathname.replace(/\/$/, '').split('/').slice(-2);
  if (!collection?.test(parent.toLowerCase()) || last === '') return undefined;
  try {
    return { [id]: decodeURIComponent(last) };
  } catch {
    return undefined;
  }
}
