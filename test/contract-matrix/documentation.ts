import type { MessageFact } from './facts.ts';
import type { Answer } from './http.ts';
import { type ListRequest, type Paging, token } from './paging.ts';
import { pagingOf, type Service } from './service.ts';
import { plural, type Resource, show } from './wire.ts';

/** What the documentation of a service tells an operator, as arguments of `partnerctl contract set`. */

const LISTS: Readonly<Record<string, Resource>> = {
  'spaces.list': 'space',
  'agents.list': 'agent',
  'cron_jobs.list': 'cron_job',
  'messages.history': 'message',
};
const FIELDS: Readonly<Record<Resource, readonly string[]>> = {
  space: ['external_space_id', 'name', 'description', 'is_org_wide'],
  agent: ['space_id', 'name', 'template_id'],
  source: ['agent_id', 'name', 'reply_capable', 'routing_mode'],
  message: ['source_id', 'session_id', 'external_message_id'],
  cron_job: ['agent_id', 'name', 'instructions'],
  document: [],
  file_attachment: [],
};
const HISTORY_PATH = '/integrations/api-chat/history/';
const MARK = 'a mark that is nothing else';
const SIZE = 2;

/** Returns the value of a leaf, or undefined if the documentation does not mention a difference from the default. */
export function documented(service: Service, leaf: string): string | undefined {
  return service.documented?.[leaf] ?? ofLists(service, leaf) ?? ofHistory(service, leaf) ?? ofField(service, leaf);
}

function ofLists(service: Service, leaf: string): string | undefined {
  const [, operation = '', part] = /^(.*)\.(items|next)$/.exec(leaf) ?? [];
  const resource = LISTS[operation];
  if (!resource || part === undefined) {
    return leaf === 'cron_jobs.list' && service.jobsStatus !== undefined ? 'none' : undefined;
  }
  const paging = pagingOf(service, resource);
  const list = listOf(service, resource);
  const { headers = {}, body } = paging.answer(list);
  if (part === 'items') return pathsOf(body, (value) => isPageOf(value))[0]?.join('.') ?? '$';
  return nextOf(paging, body, headers);
}

function listOf({ names = {} }: Service, resource: Resource): ListRequest {
  const ids = [1, 2, 3, 4, 5].map((number) => `${MARK}${number}`);
  return {
    resource,
    key: plural(resource, names.letterCase),
    items: ids.map((id) => show(names, resource, { [`${resource}_id`]: id })),
    ids,
    url: new URL('http://service/v1/list/'),
    headers: {},
    size: SIZE,
  };
}

function isPageOf(value: unknown): boolean {
  return Array.isArray(value) && value.length >= SIZE && JSON.stringify(value[0]).includes(`${MARK}1`);
}

function nextOf({ position }: Paging, body: unknown, headers: NonNullable<Answer['headers']>): string | undefined {
  const { kind, parameters } = position;
  const [parameter = ''] = parameters;
  if (kind === 'none') return 'none';
  if (kind === 'token') {
    const path = pathsOf(body, (value) => value === token(SIZE))[0];
    if (path) return `token:${path.join('.')}:${parameter}`;
  }
  const link = pathsOf(body, (value) => typeof value === 'string' && /[/?]/.test(value) && leadsOn(value, position))[0];
  if (link) return `link:${link.join('.')}`;
  if (headers.link !== undefined) return 'header:link';
  return kind === 'token' || kind === 'header' ? undefined : `${kind}:${parameter}`;
}

/** Whether a URL leads to the second page. */
function leadsOn(address: string, { from }: Paging['position']): boolean {
  const url = new URL(address, 'http://service');
  const ids = [1, 2, 3, 4, 5].map((number) => `${MARK}${number}`);
  try {
    return from({ resource: 'space', key: '', items: [], ids, url, headers: {}, size: SIZE }) === SIZE;
  } catch {
    return false;
  }
}

function ofHistory({ history = {} }: Service, leaf: string): string | undefined {
  const { method, parameters } = history;
  if (leaf === 'messages.history') return method === 'POST' ? `POST ${HISTORY_PATH}` : undefined;
  const [, name] = /^messages\.history\.(\w+)$/.exec(leaf) ?? [];
  const place = method === 'POST' ? 'body' : 'query';
  if (name === 'source_id') return `${place}:${parameters?.source ?? name}`;
  if (name === 'session_id') return `${place}:${parameters?.session ?? name}`;
  return name === 'after_message_id' ? `${place}:${parameters?.after ?? name}` : undefined;
}

function ofField(service: Service, leaf: string): string | undefined {
  const { names = {} } = service;
  const [, resource, field = ''] = /^(\w+)\.([\w.]+)$/.exec(leaf) ?? [];
  if (!isResource(resource)) return undefined;
  if (resource === 'message') {
    const value = ofMessage(service, field);
    if (value !== undefined) return value;
  }
  const own = `${resource}_id`;
  if (field !== 'id' && !FIELDS[resource].includes(field)) return undefined;
  const fact = { [field === 'id' ? own : field]: MARK };
  return pathsOf(show(names, resource, fact), (value) => value === MARK)[0]?.join('.');
}

function isResource(name: string | undefined): name is Resource {
  return name !== undefined && name in FIELDS;
}

function messageFact(more: Partial<MessageFact>): MessageFact {
  return {
    message_id: 1,
    source_id: 2,
    session_id: 's',
    text: 't',
    author: 'user',
    created_at: 0,
    external_message_id: null,
    ...more,
  };
}

function ofMessage({ names = {} }: Service, field: string): string | undefined {
  const shown = (more: Partial<MessageFact>): unknown => show(names, 'message', messageFact(more));
  if (field === 'text') return pathsOf(shown({ text: MARK }), (value) => value === MARK)[0]?.join('.');
  const assistant = shown({ author: 'assistant' });
  const authors = differingPaths(shown({ author: 'user' }), assistant);
  const author = authors.find((path) => /(type|role|bot|kind|agent)$/.test(path.at(-1) ?? '')) ?? authors[0];
  if (field === 'author') return author?.join('.');
  if (field === 'author.agent') return author && String(valueAt(assistant, author));
  if (field === 'author.user') return author && String(valueAt(shown({ author: 'user' }), author));
  if (field === 'created_at')
    return differingPaths(shown({ created_at: 60_000 }), shown({ created_at: 0 }))[0]?.join('.');
  return undefined;
}

function differingPaths(one: unknown, other: unknown): string[][] {
  return [...pathsOf(one, () => true), ...pathsOf(other, () => true)].filter((path) => {
    const [a, b] = [valueAt(one, path), valueAt(other, path)];
    return typeof a !== 'object' && a !== b;
  });
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((each, key) => {
    return typeof each === 'object' && each !== null
      ? Object.entries(each).find(([name]) => name === key)?.[1]
      : undefined;
  }, value);
}

/** Finds the paths of the values that satisfy a predicate, outer ones first. */
function pathsOf(value: unknown, isWanted: (value: unknown) => boolean, path: readonly string[] = []): string[][] {
  const own = path.length > 0 && isWanted(value) ? [[...path]] : [];
  if (typeof value !== 'object' || value === null) return own;
  return [...own, ...Object.entries(value).flatMap(([key, each]) => pathsOf(each, isWanted, [...path, key]))];
}
