import type { Resource } from './facts.ts';
import { historyParameters } from './respond.ts';
import { inCase, isWire, listStyle, pathOf, type Service } from './service.ts';

const LISTS: Readonly<Record<string, Resource>> = {
  'spaces.list': 'space',
  'agents.list': 'agent',
  'cron_jobs.list': 'cron_job',
  'messages.history': 'message',
};
/** A value for `next` of which only the parameter is known. */
export const TOKEN = 'token:?:';
const KINDS = { page: 'page', offset: 'offset', 'last id': 'after', token: 'token' } as const;

/** What the documentation of a service says about a leaf, as values of `contract set`: any of them is right. */
export function truth(service: Service, leaf: string): readonly string[] {
  const [, owner = '', part = ''] = /^(\w+(?:\.list|\.history)?)\.([\w.]+)$/.exec(leaf) ?? [];
  const listed = LISTS[owner];
  if (listed !== undefined && part === 'next') return nextOf(service, listed);
  if (listed !== undefined && part === 'items') return [itemsPath(service, listed) ?? '$'];
  if (owner === 'messages.history') return parameterOf(service, part);
  if (leaf === 'cron_jobs.list' && service.noJobList) return ['none'];
  if (leaf === 'paths.trailing_slash') return [service.slash === undefined ? 'always' : 'never'];
  if (leaf.endsWith('.create.file')) return [`form:${service.fileField ?? 'file'}`];
  if (part === 'author.agent' || part === 'author.user') {
    const [, user, agent] = service.author ?? ['role', 'user', 'assistant'];
    return [String(part === 'author.user' ? user : agent)];
  }
  const path = isResource(owner) ? pathOf(service, owner, part === 'id' ? `${owner}_id` : part) : undefined;
  return path === undefined || path === null ? [] : [path];
}

function isResource(name: string): name is Resource {
  return ['space', 'agent', 'source', 'message', 'cron_job', 'document', 'file_attachment'].includes(name);
}

const MARK = { mark: 'an item' };

/** The path of the items in a page: `data.rows`; undefined if the body is the list. */
function itemsPath(service: Service, resource: Resource): string | undefined {
  const { list } = listStyle(service, resource);
  const numbers = { from: 0, size: 1, total: 1, number: 1, current: 1, pages: 1, hasNext: false };
  const links = { next: null, nextPath: null, nextValue: null, firstId: null, lastId: null, url: '' };
  const key = inCase(`${resource}s`, service.casing);
  return pathOfMark(list({ ...numbers, ...links, key, items: [MARK] }))?.join('.');
}

function pathOfMark(value: unknown): string[] | undefined {
  if (!isWire(value)) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (Array.isArray(inner) && JSON.stringify(inner[0] ?? null).includes(MARK.mark)) return [name];
    const path = pathOfMark(inner);
    if (path) return [name, ...path];
  }
  return undefined;
}

function nextOf(service: Service, resource: Resource): string[] {
  const { paging } = listStyle(service, resource);
  if (!paging) return ['none'];
  const { by, parameter, first } = paging;
  if (by === 'page' && first === 0) return [`page:${parameter}:0`];
  return by === 'token' ? [`${TOKEN}${parameter}`] : [`${KINDS[by]}:${parameter}`];
}

function parameterOf(service: Service, part: string): string[] {
  const place = service.history?.method === 'POST' ? 'body' : 'query';
  const { source, session, after } = historyParameters(service);
  const names: Readonly<Record<string, string>> = { source_id: source, session_id: session, after_message_id: after };
  return names[part] === undefined ? [] : [`${place}:${names[part]}`];
}
