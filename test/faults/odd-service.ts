import type { ServerResponse } from 'node:http';
import { type FakeRequest, type FakeService, sendJson, startFakeService } from '../support/fake-service.ts';

interface OddAgent {
  readonly id: number;
  readonly name: string;
  readonly template_id: string;
}

interface OddSpace {
  readonly id: number;
  readonly external_space_id: string;
  readonly name: string;
  readonly agents: OddAgent[];
}

/** What goes wrong with a request: before it is processed, or after, when the response is lost. */
export type Trouble =
  | 307
  | 404
  | 405
  | 501
  | 503
  | 429
  | 'reset'
  | 'reset after'
  | 'cut after'
  | '502 after'
  | '303 after'
  /** A 504; the request is carried out just before the fourth GET after it. */
  | 'late 504'
  | undefined;

export interface Habits {
  /** How a list is wrapped. A bare array by default. */
  readonly envelope?: (items: readonly object[], resource: string, next: string | null) => unknown;
  /** How one space or agent is shown, from its id and its other fields. */
  readonly item?: (resource: 'space' | 'agent', id: number, fields: object) => object;
  /** Returns the form in which external ids are compared. Byte for byte by default. */
  readonly fold?: (externalId: string) => string;
  readonly hideTemplates?: boolean;
  readonly hideExternalIds?: boolean;
  readonly pageSize?: number;
  /** The body of the response to provisioning. By default the space with its new agents. */
  readonly answer?: (space: object, agents: readonly object[]) => unknown;
  /** Decided for each request; `count` counts the requests of its method. */
  readonly trouble?: (request: FakeRequest, count: number) => Trouble;
  /** Requests that the token may not make. */
  readonly forbidden?: (request: FakeRequest) => boolean;
  /** Whether the lists are still empty. */
  readonly isStale?: () => boolean;
  /** Resolves when the response to a POST, which has been carried out, may be sent. */
  readonly beforeAnswer?: () => Promise<unknown>;
}

export interface OddService extends FakeService {
  readonly spaces: Map<string, OddSpace>;
  /** The names of the agents of a space, sorted; an agent that was installed twice occurs twice. */
  agentNames(externalId: string): string[];
}

interface Wanted {
  readonly external_space_id: string;
  readonly space: { readonly name: string };
  readonly agents: readonly { readonly name: string; readonly template_id: string }[];
}

/**
 * A service that follows the letter of the specification and nothing else: a repeated provision reuses the space, and installs
 * the named agents again each time.
 */
export async function oddService(habits: Habits = {}): Promise<OddService> {
  const spaces = new Map<string, OddSpace>();
  const counts = new Map<string, number>();
  const late: { readsLeft: number; readonly body: string }[] = [];
  let lastId = 100;
  const newId = (): number => {
    lastId += 1;
    return lastId;
  };
  const { envelope = (items: readonly object[]) => items, pageSize = Number.POSITIVE_INFINITY } = habits;
  const { fold = (externalId: string) => externalId } = habits;
  const item = habits.item ?? ((resource, id, fields) => ({ [`${resource}_id`]: `${resource}-${id}`, ...fields }));
  const answerOf = habits.answer ?? ((space: object, agents: readonly object[]) => ({ ...space, agents }));

  const shownAgent = ({ id, name, template_id }: OddAgent): object =>
    item('agent', id, { name, ...(!habits.hideTemplates && { template_id }) });
  const shownSpace = ({ id, name, external_space_id }: OddSpace): object =>
    item('space', id, { name, ...(!habits.hideExternalIds && { external_space_id }) });

  function page(all: readonly object[], resource: string, path: string): unknown {
    const items = habits.isStale?.() ? [] : all;
    const url = new URL(path, 'http://here');
    const from = Number(url.searchParams.get('from') ?? 0);
    const next = from + pageSize < items.length ? `${url.pathname}?from=${from + pageSize}` : null;
    return envelope(items.slice(from, from + pageSize), resource, next);
  }

  function provision(body: string): unknown {
    const wanted: Wanted = JSON.parse(body);
    const key = fold(wanted.external_space_id);
    const found = spaces.get(key);
    const space = found ?? {
      id: newId(),
      external_space_id: wanted.external_space_id,
      name: wanted.space.name,
      agents: [],
    };
    spaces.set(key, space);
    const installed = wanted.agents.map(({ name, template_id }) => ({ id: newId(), name, template_id }));
    space.agents.push(...installed);
    return answerOf(shownSpace(space), installed.map(shownAgent));
  }

  function process(request: FakeRequest): { status: number; body: unknown } {
    if (request.method === 'POST') return { status: 200, body: provision(request.body) };
    const id = /\/spaces\/([^/]+)\/agents\//.exec(request.path)?.[1];
    if (id === undefined)
      return { status: 200, body: page([...spaces.values()].map(shownSpace), 'spaces', request.path) };
    const space = [...spaces.values()].find(
      (candidate) => id === String(candidate.id) || id === `space-${candidate.id}`,
    );
    if (!space) return { status: 404, body: { detail: 'no such space' } };
    return { status: 200, body: page(space.agents.map(shownAgent), 'agents', request.path) };
  }

  function spoil(trouble: Trouble, response: ServerResponse, body: unknown): void {
    if (trouble === '502 after') {
      sendJson(response, { detail: 'gateway' }, 502);
    } else if (trouble === '303 after') {
      sendJson(response, {}, 303, { location: '/spaces' });
    } else if (trouble === 'reset after') {
      response.socket?.resetAndDestroy();
    } else if (trouble === 'cut after') {
      response.writeHead(200, { 'content-length': '9999' });
      response.write('{"space_id":', () => response.destroy());
    } else {
      sendJson(response, body);
    }
  }

  async function answer(request: FakeRequest, response: ServerResponse): Promise<void> {
    const count = (counts.get(request.method) ?? 0) + 1;
    counts.set(request.method, count);
    const trouble = habits.trouble?.(request, count);
    if (request.method === 'GET') {
      for (const each of late) {
        each.readsLeft -= 1;
        if (each.readsLeft === 0) provision(each.body);
      }
    }
    if (habits.forbidden?.(request)) {
      sendJson(response, { detail: 'missing scope' }, 403);
    } else if (typeof trouble === 'number') {
      sendJson(response, { detail: 'trouble' }, trouble);
    } else if (trouble === 'reset') {
      response.socket?.resetAndDestroy();
    } else if (trouble === 'late 504') {
      late.push({ readsLeft: 4, body: request.body });
      sendJson(response, { detail: 'gateway' }, 504);
    } else {
      const { status, body } = process(request);
      if (request.method === 'POST') await habits.beforeAnswer?.();
      if (status === 200) spoil(trouble, response, body);
      else sendJson(response, body, status);
    }
  }

  const server = await startFakeService(answer);
  return {
    ...server,
    spaces,
    agentNames: (externalId) => (spaces.get(fold(externalId))?.agents ?? []).map(({ name }) => name).sort(),
  };
}
