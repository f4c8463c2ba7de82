import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Facts, type Id, type JobFact, type MessageFact, type UploadKind } from './facts.ts';
import { type Answer, ServiceError, type ServiceRequest } from './http.ts';
import { prefixed } from './ids.ts';
import { pagingOf, type Service, type Write } from './service.ts';
import { plural, type Resource, show, type Wire } from './wire.ts';

const PAGE_SIZE = 2;
const HISTORY_PAGE_SIZE = 3;
const PREFIX = '/v1';
/** A second on the clock of the commands. */
const JOB_DELAY_MS = 50;

/** One exchange, as the service saw it. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly answer: Answer;
  /** The error message, if it was an error. */
  readonly sentence: string | null;
}

/** Responds to requests the way of one service. */
export class ServiceServer {
  readonly facts: Facts;
  readonly exchanges: Exchange[] = [];
  baseUrl = '';
  /** Whether the connection breaks once the next job was created. */
  losesNextJob = false;

  private readonly service: Service;
  /** Jobs that are not listed yet, and when they will be. */
  private readonly lateJobs = new Map<JobFact, number>();
  private readonly server = createServer((request, response) => {
    void this.handle(request, response);
  });

  constructor(service: Service) {
    this.service = service;
    this.facts = new Facts(service.ids ?? prefixed, service.history?.isCoarse, service.more);
  }

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const address = this.server.address();
    if (typeof address !== 'object' || address === null) throw new Error('No port.');
    this.baseUrl = `http://127.0.0.1:${address.port}${PREFIX}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** Waits until everything that was created is listed. */
  async settle(): Promise<void> {
    await setTimeout(Math.max(0, ...[...this.lateJobs.values()].map((time) => time - Date.now())));
  }

  private async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const url = new URL(incoming.url ?? '/', `http://${incoming.headers.host}`);
    const { method = 'GET', headers } = incoming;
    const jobs = this.facts.jobs.length;
    const { answer, sentence } = await this.answer({ method, url, headers, body: Buffer.concat(chunks) });
    this.exchanges.push({ method, path: url.pathname.slice(PREFIX.length), answer, sentence });
    if (this.losesNextJob && this.facts.jobs.length > jobs) {
      this.losesNextJob = false;
      response.socket?.resetAndDestroy();
      return;
    }
    const text = answer.body === undefined ? undefined : this.write(answer.body);
    const body = text !== undefined && this.service.isCompressed ? gzipSync(text) : text;
    response.writeHead(answer.status, {
      ...(body !== undefined && { 'content-type': this.service.mediaType ?? 'application/json' }),
      ...(body !== text && { 'content-encoding': 'gzip' }),
      ...this.service.headers,
      ...answer.headers,
    });
    response.end(body);
  }

  private write(body: unknown): string {
    const text = isPage(body) ? body : JSON.stringify(body);
    return this.service.hasBigNumbers ? text.replaceAll(/"(\d{19})"/g, '$1') : text;
  }

  private async answer(request: ServiceRequest): Promise<{ answer: Answer; sentence: string | null }> {
    try {
      return { answer: await this.route(request), sentence: null };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { status, code, message: sentence } = error;
      const path = request.url.pathname;
      const body = this.service.error?.({ status, code, sentence, path }) ?? { detail: sentence };
      const type = isPage(body) ? 'text/html; charset=UTF-8' : this.service.errorType;
      const isSilent = isPage(body) && !body.includes(sentence);
      const headers = type === undefined ? {} : { 'content-type': type };
      return {
        answer: { status: this.service.errorStatus ?? status, headers, body },
        sentence: isSilent ? null : sentence,
      };
    }
  }

  private async route(request: ServiceRequest): Promise<Answer> {
    const { slash } = this.service;
    let path = request.url.pathname.slice(PREFIX.length);
    if (slash && path.endsWith('/')) {
      const status = request.method === 'GET' ? slash.read : slash.write;
      if (status >= 400) throw new ServiceError(status, 'not_found', `There is nothing at ${path}.`);
      return { status, headers: { location: request.url.href.replace(/\/(?=$|\?)/, '') } };
    }
    if (request.headers.authorization !== 'Bearer matrix-token') {
      throw new ServiceError(401, 'unauthorized', 'The token is not valid.');
    }
    if (!path.endsWith('/')) {
      if (!slash) throw new ServiceError(404, 'not_found', `There is nothing at ${path}.`);
      path = `${path}/`;
    }
    return this.dispatch(path, request);
  }

  private dispatch(path: string, request: ServiceRequest): Promise<Answer> | Answer {
    const get = request.method === 'GET';
    const post = request.method === 'POST';
    const agents = /^\/automation\/spaces\/([^/]+)\/agents\/$/.exec(path);
    const setup = /^\/automation\/spaces\/([^/]+)\/agents\/([^/]+)\/api-chat\/$/.exec(path);
    if (path === '/automation/spaces/' && get) return this.list('space', this.facts.spaces, request);
    if (path === '/automation/agent-templates/provision-space/' && post) return this.provision(request);
    if (agents && get) return this.listAgents(agents[1] ?? '', request);
    if (setup && post) return this.setUp(setup[1] ?? '', setup[2] ?? '', request);
    if (path === '/integrations/api-chat/message/' && post) return this.send(request);
    if (path === '/integrations/api-chat/history/') return this.history(request);
    if (path === '/automation/documents/' && post) return this.upload('document', request);
    if (path === '/automation/file-attachments/' && post) return this.upload('file_attachment', request);
    if (path === '/automation/partner-cron-jobs/') return this.jobs(request);
    const job = /^\/automation\/partner-cron-jobs\/([^/]+)\/$/.exec(path);
    if (job && get) return this.showJob(job[1] ?? '');
    throw new ServiceError(
      get || post ? 404 : 405,
      'not_found',
      `There is no operation ${request.method} ${path} in this service.`,
    );
  }

  private list(
    resource: Resource,
    facts: readonly object[],
    request: ServiceRequest,
    size = this.service.pageSize ?? PAGE_SIZE,
  ): Answer {
    const { names = {}, isStrict } = this.service;
    const used = pagingOf(this.service, resource);
    if (isStrict) this.refuseUnknown(request, used.position.parameters, resource);
    return used.answer({
      resource,
      key: plural(resource, names.letterCase),
      items: facts.map((fact) => show(names, resource, fact, this.more(fact))),
      ids: facts.map((fact) => String(Object.entries(fact).find(([name]) => name === `${resource}_id`)?.[1])),
      url: request.url,
      headers: request.headers,
      size,
    });
  }

  private more(fact: object): Wire {
    const { agentSource } = this.service;
    if (!agentSource || !('agent_id' in fact) || !('template_id' in fact)) return {};
    return agentSource(this.facts.sources.find(({ agent_id }) => agent_id === fact.agent_id)?.source_id ?? null);
  }

  private refuseUnknown({ url }: ServiceRequest, known: readonly string[], resource: Resource): void {
    const own = resource === 'message' ? Object.values(this.historyParameters()) : [];
    for (const name of url.searchParams.keys()) {
      if (!known.includes(name) && !own.includes(name)) {
        throw new ServiceError(400, 'unknown_parameter', `The query parameter ${name} does not exist here.`);
      }
    }
  }

  private listAgents(id: string, request: ServiceRequest): Answer {
    const space = this.findSpace(id);
    return this.list('agent', this.facts.agentsOf(space.space_id), request);
  }

  private findSpace(id: string): { readonly space_id: Id } {
    const wanted = decodeURIComponent(id);
    const space = this.facts.spaces.find(({ space_id }) => String(space_id) === wanted);
    if (!space) throw new ServiceError(404, 'space_not_found', 'This space does not exist.');
    return space;
  }

  /** Installs the agents on every request, because the specification does not exclude it. */
  private provision(request: ServiceRequest): Answer {
    const { external_space_id, space, agents } = readJson(request);
    if (typeof external_space_id !== 'string') throw missing('external_space_id');
    const isNew = !this.facts.spaces.some((each) => each.external_space_id === external_space_id);
    const made = this.facts.addSpace(external_space_id, isFields(space) ? space : {});
    const wanted = Array.isArray(agents) ? agents.filter(isFields) : [];
    const installed = wanted.map((each) => {
      const agent = this.facts.addAgent(made.space_id, each);
      if (each.auto_create_api_chat) this.facts.setUpSource(agent.agent_id, {});
      return agent;
    });
    const { names = {}, provisioned, one } = this.service;
    const wires = installed.map((agent) => show(names, 'agent', agent));
    const body =
      provisioned?.(show(names, 'space', made), wires) ??
      this.one('space', show(names, 'space', made, { agents: wires }), one);
    return this.wrote('provision', isNew, body, `/automation/spaces/${made.space_id}/`);
  }

  private setUp(spaceId: string, agentId: string, request: ServiceRequest): Answer {
    const space = this.findSpace(spaceId);
    const wanted = decodeURIComponent(agentId);
    const agent = this.facts.agentsOf(space.space_id).find(({ agent_id }) => String(agent_id) === wanted);
    if (!agent) throw new ServiceError(404, 'agent_not_found', 'This agent does not exist.');
    const isNew = !this.facts.sources.some(({ agent_id }) => agent_id === agent.agent_id);
    const source = this.facts.setUpSource(agent.agent_id, readJson(request));
    const path = `/automation/api-chat-sources/${source.source_id}/`;
    return this.wrote('setup', isNew, this.one('source', show(this.service.names ?? {}, 'source', source)), path);
  }

  private send(request: ServiceRequest): Answer {
    const { source_id, session_id, text, external_message_id } = readJson(request);
    const source = this.facts.sources.find((each) => String(each.source_id) === String(source_id));
    if (!source) throw new ServiceError(404, 'source_not_found', 'This source does not exist.');
    if (typeof session_id !== 'string') throw missing('session_id');
    if (typeof text !== 'string') throw missing('text');
    const external = typeof external_message_id === 'string' ? external_message_id : null;
    const known = this.facts
      .session(source.source_id, session_id)
      .find((each) => external !== null && each.external_message_id === external);
    const message = known ?? this.register(source.source_id, session_id, text, external);
    const more = { created: !known };
    const wire = this.one('message', show(this.service.names ?? {}, 'message', message, more));
    return this.wrote('send', !known, wire, `/integrations/api-chat/message/${message.message_id}/`);
  }

  /** Adds a message, a reply to it a little later, and a message of another session at the same time. */
  private register(source_id: Id, session_id: string, text: string, external_message_id: string | null): MessageFact {
    const message = this.facts.addMessage({ source_id, session_id, text, external_message_id });
    this.facts.addMessage({ source_id, session_id: 'ben', author: 'assistant', text: `To Ben, not about: ${text}` });
    const announced = this.service.announce?.(text);
    if (announced) this.facts.addMessage({ source_id, session_id, author: 'system', text: announced });
    this.facts.addMessage({ source_id, session_id, author: 'assistant', text: replyTo(text) }, 'later');
    return message;
  }

  private historyParameters() {
    return (
      this.service.history?.parameters ?? { source: 'source_id', session: 'session_id', after: 'after_message_id' }
    );
  }

  private history(request: ServiceRequest): Answer {
    const {
      method = 'GET',
      otherMethod = 405,
      unscoped,
      order,
      cursor,
      pageSize = HISTORY_PAGE_SIZE,
    } = this.service.history ?? {};
    if (request.method !== method) {
      throw new ServiceError(otherMethod, 'method_not_allowed', `The method ${request.method} is not allowed here.`);
    }
    const names = this.historyParameters();
    const body = method === 'POST' ? readJson(request) : {};
    const value = (name: string): string | null => {
      const found = body[name] ?? request.url.searchParams.get(name);
      return typeof found === 'string' || typeof found === 'number' ? String(found) : null;
    };
    const [source, session, after] = [value(names.source), value(names.session), value(names.after)];
    if (unscoped !== 'everything') {
      if (source === null) throw missing(names.source);
      if (session === null) throw missing(names.session);
    }
    let messages = this.facts.readMessages().filter((each) => {
      return (
        (source === null || String(each.source_id) === source) && (session === null || each.session_id === session)
      );
    });
    if (after !== null && cursor !== 'ignored') {
      const at = messages.findIndex(({ message_id }) => String(message_id) === after);
      if (at === -1) throw new ServiceError(404, 'message_not_found', `There is no message ${after} in this session.`);
      messages = messages.slice(cursor === 'inclusive' ? at : at + 1);
    }
    return this.list('message', order === 'newest first' ? messages.toReversed() : messages, request, pageSize);
  }

  private async upload(kind: UploadKind, request: ServiceRequest): Promise<Answer> {
    const type = String(request.headers['content-type']);
    if (!type.startsWith('multipart/form-data')) throw new ServiceError(415, 'media_type', 'Send multipart/form-data.');
    const form = await new Response(new Uint8Array(request.body), { headers: { 'content-type': type } }).formData();
    const file = form.get(this.service.fileField ?? 'file');
    if (file === null || typeof file === 'string') throw missing(this.service.fileField ?? 'file');
    const made = this.facts.addUpload(kind, file.name, Buffer.from(await file.arrayBuffer()));
    const wire = show(this.service.names ?? {}, kind, { id: made.id, filename: made.filename, size: file.size });
    const path = kind === 'document' ? 'documents' : 'file-attachments';
    return this.wrote('upload', true, this.one(kind, wire), `/automation/${path}/${made.id}/`);
  }

  private jobs(request: ServiceRequest): Answer {
    const { jobsStatus, jobsMethod = 'GET' } = this.service;
    const json = request.method === 'POST' ? readJson(request) : {};
    if (request.method === 'POST' && typeof json.agent_id !== 'undefined') return this.createJob(json);
    if (jobsStatus !== undefined) throw new ServiceError(jobsStatus, 'no_listing', 'Jobs can not be listed.');
    if (request.method === 'POST' && jobsMethod !== 'POST') throw missing('agent_id');
    if (request.method !== jobsMethod) throw new ServiceError(405, 'method_not_allowed', 'Use POST here.');
    const listed = this.facts.jobs.filter((job) => (this.lateJobs.get(job) ?? 0) <= Date.now());
    return this.list('cron_job', listed, request);
  }

  private createJob({ agent_id, name, instructions, schedule }: Fields): Answer {
    const agent = this.facts.agents.find((each) => String(each.agent_id) === String(agent_id));
    if (!agent) throw new ServiceError(404, 'agent_not_found', 'This agent does not exist.');
    if (typeof name !== 'string') throw missing('name');
    if (typeof instructions !== 'string') throw missing('instructions');
    const job = this.facts.addJob({ agent_id: agent.agent_id, name, instructions, schedule });
    if (this.service.listsJobsLate) this.lateJobs.set(job, Date.now() + JOB_DELAY_MS);
    const body = this.one('cron_job', show(this.service.names ?? {}, 'cron_job', job));
    return this.wrote('create job', true, body, `/automation/partner-cron-jobs/${job.cron_job_id}/`);
  }

  private showJob(id: string): Answer {
    const wanted = decodeURIComponent(id);
    const job = this.facts.jobs.find(({ cron_job_id }) => String(cron_job_id) === wanted);
    if (!job) throw new ServiceError(404, 'job_not_found', 'This job does not exist.');
    return { status: 200, body: this.one('cron_job', show(this.service.names ?? {}, 'cron_job', job)) };
  }

  private one(resource: Resource, fields: Wire, one = this.service.one): unknown {
    return one ? one(resource, fields) : fields;
  }

  private wrote(write: Write, isNew: boolean, body: unknown, path: string): Answer {
    const { created = 201, bodiless = {}, wrote } = this.service;
    const status = isNew ? created : 200;
    const instead = bodiless[write];
    if (wrote) return wrote(write, { status, body }, { isNew, location: `${PREFIX}${path}` });
    if (instead === undefined) return { status, body };
    return { status: isNew ? created : 204, headers: instead === 'location' ? { location: `${PREFIX}${path}` } : {} };
  }
}

/** The agent's reply. */
export function replyTo(text: string): string {
  return `Thank you for: ${text}`;
}

type Fields = Readonly<Record<string, unknown>>;

/** A page of HTML. */
function isPage(body: unknown): body is string {
  return typeof body === 'string' && body.startsWith('<');
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readJson({ body }: ServiceRequest): Fields {
  try {
    const value: unknown = JSON.parse(body.toString().replaceAll(/(?<=":\s*)\d{19}\b/g, '"$&"') || '{}');
    if (isFields(value)) return value;
  } catch {
    // It is rejected below.
  }
  throw new ServiceError(400, 'invalid_json', 'The body is not a JSON object.');
}

function missing(name: string): ServiceError {
  return new ServiceError(400, 'missing_parameter', `The parameter ${name} is required.`);
}
