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
  | 403
  | 429
  | 503
  | 'reset'
  | 'reset after'
  | 'cut after'
  | '502 after'
  | '303 after'
  | undefined;

export interface Habits {
  /** How a list is wrapped. A bare array by default. */
  readonly envelope?: (items: readonly object[], resource: string) => unknown;
  /** How one space or agent is shown, from its id and its other fields. */
  readonly item?: (resource: 'space' | 'agent', id: number, fields: object) => object;
  readonly hideTemplates?: boolean;
  /** The body of the response to provisioning. By default the space with its new agents. */
  readonly answer?: (space: object, agents: readonly object[]) => unknown;
  /** Decided for each request; `count` counts the requests of its method. */
  readonly trouble?: (request: FakeRequest, count: number) => Trouble;
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
  let lastId = 100;
  const newId = (): number => {
    lastId += 1;
    return lastId;
  };
  const { envelope = (items: readonly object[]) => items } = habits;
  const item = habits.item ?? ((resource, id, fields) => ({ [`${resource}_id`]: `${resource}-${id}`, ...fields }));
  const answerOf = habits.answer ?? ((space: object, agents: readonly object[]) => ({ ...space, agents }));
  const shownAgent = ({ id, name, template_id }: OddAgent): object =>
    item('agent', id, { name, ...(!habits.hideTemplates && { template_id }) });
  const shownSpace = ({ id, name, external_space_id }: OddSpace): object =>
    item('space', id, { name, external_space_id });

  function provision({ external_space_id, space: { name }, agents }: Wanted): unknown {
    const space = spaces.get(external_space_id) ?? { id: newId(), external_space_id, name, agents: [] };
    spaces.set(external_space_id, space);
    const installed = agents.map((agent) => ({ id: newId(), name: agent.name, template_id: agent.template_id }));
    space.agents.push(...installed);
    return answerOf(shownSpace(space), installed.map(shownAgent));
  }

  function process({ method, path, body }: FakeRequest): unknown {
    if (method === 'POST') return provision(JSON.parse(body));
    const id = /\/spaces\/(?:space-)?(\d+)\/agents\//.exec(path)?.[1];
    if (id === undefined) return envelope([...spaces.values()].map(shownSpace), 'spaces');
    const { agents = [] } = [...spaces.values()].find((space) => String(space.id) === id) ?? {};
    return envelope(agents.map(shownAgent), 'agents');
  }

  function answer(request: FakeRequest, response: ServerResponse): void {
    const count = (counts.get(request.method) ?? 0) + 1;
    counts.set(request.method, count);
    const trouble = habits.trouble?.(request, count);
    if (typeof trouble === 'number') sendJson(response, { detail: 'trouble' }, trouble);
    else if (trouble === 'reset') response.socket?.resetAndDestroy();
    else spoil(trouble, response, process(request));
  }

  function spoil(trouble: Trouble, response: ServerResponse, body: unknown): void {
    if (trouble === '502 after') sendJson(response, { detail: 'gateway' }, 502);
    else if (trouble === '303 after') sendJson(response, {}, 303, { location: '/spaces' });
    else if (trouble === 'reset after') response.socket?.resetAndDestroy();
    else if (trouble === 'cut after') {
      response.writeHead(200, { 'content-length': '9999' });
      response.write('{"space_id":', () => response.destroy());
    } else sendJson(response, body);
  }

  const agentNames = (externalId: string) => (spaces.get(externalId)?.agents ?? []).map(({ name }) => name).sort();
  return { ...(await startFakeService(answer)), spaces, agentNames };
}
