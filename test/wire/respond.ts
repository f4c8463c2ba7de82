import { type Fact, type Facts, type Resource, SESSION } from './facts.ts';
import { type Answer, Failed, required, sendList } from './pages.ts';
import { isWire, type Service, show, type Wire } from './service.ts';

export interface ServiceRequest {
  readonly method: string;
  readonly url: URL;
  /** The JSON object, or the fields of the form, with a file as its `filename` and `size`. */
  readonly body: Wire;
}

export const BASE_PATH = '/v1';

/** Responds to one request the way of the service, and changes its data. */
export function respond(service: Service, facts: Facts, request: ServiceRequest): Answer {
  try {
    return route(service, facts, request);
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    const { status, code, message: sentence } = error;
    const body = service.error?.({ status, code, sentence }) ?? { detail: sentence };
    return { status: service.errorStatus ?? status, body };
  }
}

interface Context extends ServiceRequest {
  readonly service: Service;
  readonly facts: Facts;
}

/** An operation of the specification: how it is responded to, and an example of its request. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly handle: (context: Context, ...ids: string[]) => Answer;
  /** The resource that it lists. */
  readonly lists?: Resource;
  readonly body?: Wire;
  readonly parameters?: Readonly<Record<string, string>>;
  /** Whether the parameters are required. */
  readonly isRequired?: boolean;
}

const INSTALLED = { template_id: 't', name: 'A', auto_create_api_chat: true, api_chat_routing_mode: 'agent_inbox' };
const SCHEDULE = { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '1-5' }, timezone: 'UTC' };

/** The routes of a service. */
export function routesOf(service: Service, { agent, source }: Facts): readonly Route[] {
  const names = historyParameters(service);
  const conversation = { [names.source]: String(source.source_id), [names.session]: SESSION };
  const file = { [service.fileField ?? 'file']: { filename: 'a.md', size: 3 } };
  const { method = 'GET' } = service.history ?? {};
  return [
    {
      method: 'GET',
      path: '/automation/spaces/',
      lists: 'space',
      handle: (context) => sendList(context, 'space', context.facts.spaces),
    },
    {
      method: 'POST',
      path: '/automation/agent-templates/provision-space/',
      handle: provision,
      body: {
        external_space_id: 'new',
        space: { name: 'N', description: 'D', is_org_wide: false },
        agents: [INSTALLED],
      },
    },
    { method: 'GET', path: '/automation/spaces/{space_id}/agents/', lists: 'agent', handle: listAgents },
    {
      method: 'POST',
      path: '/automation/spaces/{space_id}/agents/{agent_id}/api-chat/',
      handle: setUpSource,
      body: { name: 'N', reply_capable: true, routing_mode: 'agent_inbox' },
    },
    {
      method: 'POST',
      path: '/integrations/api-chat/message/',
      handle: send,
      body: {
        source_id: source.source_id,
        session_id: SESSION,
        text: 'T',
        external_message_id: 'e',
        response_mode: 'accepted',
      },
    },
    {
      method,
      path: '/integrations/api-chat/history/',
      lists: 'message',
      handle: history,
      ...(method === 'POST' ? { body: conversation } : { parameters: { ...conversation, [names.after]: '' } }),
    },
    { method: 'POST', path: '/automation/documents/', handle: (context) => upload(context, 'document'), body: file },
    {
      method: 'POST',
      path: '/automation/file-attachments/',
      handle: (context) => upload(context, 'file_attachment'),
      body: file,
    },
    {
      method: 'POST',
      path: '/automation/partner-cron-jobs/',
      handle: createJob,
      body: { agent_id: agent.agent_id, name: 'N', instructions: 'I', schedule: SCHEDULE },
    },
    {
      method: 'GET',
      path: '/automation/partner-cron-jobs/',
      lists: 'cron_job',
      handle: listJobs,
      ...(service.noJobList === 400 && { parameters: { agent_id: String(agent.agent_id) }, isRequired: true }),
    },
  ];
}

function route(service: Service, facts: Facts, request: ServiceRequest): Answer {
  const { method, url } = request;
  const { slash, noJobList } = service;
  const path = url.pathname.slice(BASE_PATH.length);
  const hasSlash = path.endsWith('/');
  if (hasSlash && slash === 'redirects') {
    return { status: 307, headers: { location: url.href.replace(/\/(?=$|\?)/, '') } };
  }
  const isFound = hasSlash ? slash !== 'never' : slash !== undefined;
  const wanted = hasSlash ? path : `${path}/`;
  const found = routesOf(service, facts).filter((each) => isFound && patternOf(each).test(wanted));
  if (found.length === 0) throw new Failed(404, 'not_found', `There is nothing at ${path}.`);
  const handler = found.find((each) => each.method === method);
  if (!handler || (handler.lists === 'cron_job' && noJobList === 405)) {
    throw new Failed(405, 'method_not_allowed', `The method ${method} is not allowed here.`);
  }
  const ids = patternOf(handler).exec(wanted)?.slice(1) ?? [];
  return handler.handle({ ...request, service, facts }, ...ids.map(decodeURIComponent));
}

function patternOf({ path }: Route): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]+)')}$`);
}

function find(facts: readonly Fact[], resource: Resource, id: unknown): Fact {
  const found = facts.find((fact) => String(fact[`${resource}_id`]) === String(id));
  if (!found) throw new Failed(404, 'not_found', `The ${resource} ${id} does not exist.`);
  return found;
}

function created({ service }: Context, resource: Resource, fact: Fact, body?: unknown): Answer {
  const status = service.created ?? 201;
  if (service.locationOnly?.includes(resource)) {
    return {
      status,
      isWrite: true,
      headers: { location: `${BASE_PATH}/automation/${resource}s/${fact[`${resource}_id`]}/` },
    };
  }
  const fields = show(service, resource, fact);
  return { status, isWrite: true, body: body ?? service.one?.(fields, resource) ?? fields };
}

function provision(context: Context): Answer {
  const { service, facts, body } = context;
  if (typeof body.external_space_id !== 'string') throw required('external_space_id');
  const space = facts.addSpace(body.external_space_id, isWire(body.space) ? body.space : {});
  const wanted = Array.isArray(body.agents) ? body.agents.filter(isWire) : [];
  const agents = wanted.map(({ name, template_id, auto_create_api_chat }) => {
    const agent = facts.addAgent(space.space_id, name, template_id);
    if (auto_create_api_chat) facts.setUpSource(agent.agent_id, {});
    return show(service, 'agent', agent);
  });
  const { one = (fields: Wire) => fields } = service;
  const whole =
    service.provisioned?.(show(service, 'space', space), agents) ??
    one({ ...show(service, 'space', space), agents }, 'space');
  return created(context, 'space', space, whole);
}

function listAgents(context: Context, id = ''): Answer {
  const space = find(context.facts.spaces, 'space', id);
  return sendList(context, 'agent', context.facts.agentsOf(space.space_id));
}

/** Jobs that are only listed agent by agent need the agent. */
function listJobs(context: Context): Answer {
  const { facts, service, url } = context;
  const agentId = url.searchParams.get('agent_id');
  if (service.noJobList === undefined) return sendList(context, 'cron_job', facts.jobs);
  if (agentId === null) throw required('agent_id');
  const jobs = facts.jobs.filter(({ agent_id }) => String(agent_id) === agentId);
  return sendList(context, 'cron_job', jobs, ['agent_id']);
}

function setUpSource(context: Context, spaceId = '', agentId = ''): Answer {
  const { facts, body } = context;
  const space = find(facts.spaces, 'space', spaceId);
  const agent = find(facts.agentsOf(space.space_id), 'agent', agentId);
  return created(context, 'source', facts.setUpSource(agent.agent_id, body));
}

function send(context: Context): Answer {
  const { service, facts, body } = context;
  const { session_id, text, external_message_id } = body;
  const { source_id } = find(facts.sources, 'source', body.source_id);
  if (typeof session_id !== 'string') throw required('session_id');
  if (typeof text !== 'string') throw required('text');
  const known = facts
    .session(source_id, session_id)
    .find((message) => message.external_message_id === external_message_id);
  const message = known ?? facts.addMessage(source_id, session_id, 'user', text, external_message_id);
  return created({ ...context, service }, 'message', { ...message, created: !known });
}

/** The names of the parameters of the history. */
export function historyParameters({ history }: Service) {
  return { source: 'source_id', session: 'session_id', after: 'after_message_id', ...history?.parameters };
}

function history(context: Context): Answer {
  const { service, facts, url, body } = context;
  const { order, cursor, isUnscoped } = service.history ?? {};
  const names = historyParameters(service);
  const value = (name: string): string | undefined => {
    const found = body[name] ?? url.searchParams.get(name) ?? undefined;
    return found === undefined ? undefined : String(found);
  };
  const [source, session, after] = [value(names.source), value(names.session), value(names.after)];
  if (!isUnscoped && source === undefined) throw required(names.source);
  if (!isUnscoped && session === undefined) throw required(names.session);
  let messages = facts.messages.filter(
    ({ source_id, session_id }) =>
      (source === undefined || String(source_id) === source) && (session === undefined || session_id === session),
  );
  if (after !== undefined && cursor !== 'ignored') {
    const at = messages.indexOf(find(messages, 'message', after));
    messages = messages.slice(cursor === 'inclusive' ? at : at + 1);
  }
  return sendList(context, 'message', order ? messages.toReversed() : messages, Object.values(names));
}

function upload(context: Context, kind: 'document' | 'file_attachment'): Answer {
  const field = context.service.fileField ?? 'file';
  const file = context.body[field];
  if (!isWire(file)) throw required(field);
  return created(context, kind, context.facts.addUpload(kind, file.filename, file.size));
}

function createJob(context: Context): Answer {
  const { facts, body } = context;
  const { agent_id } = find(facts.agents, 'agent', body.agent_id);
  for (const name of ['name', 'instructions', 'schedule']) if (body[name] === undefined) throw required(name);
  return created(context, 'cron_job', facts.addJob({ ...body, agent_id }));
}
