import { createHash } from 'node:crypto';

/** The data of a service, under the names of the specification: the truth that every cell is judged by. */

export type Id = string | number;

export interface SpaceFact {
  readonly space_id: Id;
  /** Null for the default space of the organization. */
  readonly external_space_id: string | null;
  readonly name: string;
  readonly description: string;
  readonly is_org_wide: boolean;
}

export interface AgentFact {
  readonly agent_id: Id;
  readonly space_id: Id;
  readonly name: string | null;
  readonly template_id: string;
}

export interface SourceFact {
  readonly source_id: Id;
  readonly agent_id: Id;
  readonly name: string;
  readonly reply_capable: boolean;
  readonly routing_mode: string;
}

export interface MessageFact {
  readonly message_id: Id;
  readonly source_id: Id;
  readonly session_id: string;
  readonly text: string;
  readonly author: 'user' | 'assistant' | 'system';
  /** Milliseconds since 1970. */
  readonly created_at: number;
  readonly external_message_id: string | null;
}

export interface Schedule {
  readonly type: string;
  readonly data: { readonly minute: string; readonly hour: string; readonly day_of_week: string };
  readonly timezone: string;
}

export interface JobFact {
  readonly cron_job_id: Id;
  readonly agent_id: Id;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: unknown;
}

export type UploadKind = 'document' | 'file_attachment';

export interface UploadFact {
  readonly id: Id;
  readonly kind: UploadKind;
  readonly filename: string;
  readonly sha256: string;
}

/** Data of a service in addition to the usual. */
export interface MoreFacts {
  /** The name of a default space, without an external id. It comes first. */
  readonly defaultSpace?: string;
  /** The names of more agents of the target space. They come first. */
  readonly agents?: readonly (string | null)[];
  /** The last messages of the session. */
  readonly messages?: readonly (readonly [MessageFact['author'], string])[];
}

/** How a service generates its ids: from the number and the kind of the object. */
export type IdStyle = (number: number, resource: string) => Id;

const ACME = { external: 'acme-001', name: 'Acme' };
/** The last of five, so that nobody finds it on a first page. */
export const TARGET = { external: 'hooli-005', name: 'Hooli' };
const SPACES = [
  ACME,
  { external: 'globex-002', name: 'Globex' },
  { external: 'initech-003', name: 'Initech' },
  { external: 'umbrella-004', name: 'Umbrella' },
  TARGET,
];
/** The agents of the target space; the last of them is the one that the commands name. */
const AGENTS = ['Support', 'Sales', 'Billing'];
export const SESSION = 'anna';
const TEXTS = [
  ['user', 'Where is my invoice?'],
  ['assistant', 'Which month do you mean?'],
  ['user', 'March.'],
  ['user', 'And April, please.'],
  ['assistant', 'Both are in your inbox.'],
] as const;
const START = Date.UTC(2026, 2, 2, 9);
const MINUTE = 60_000;
/** The number of neighboring minutes that share a timestamp at a service with coarse timestamps. */
const COARSE_MINUTES = 8;

/** The data of one service: five spaces, three agents in the last one, a source with two sessions, and three jobs. */
export class Facts {
  readonly spaces: SpaceFact[] = [];
  readonly agents: AgentFact[] = [];
  readonly sources: SourceFact[] = [];
  readonly messages: MessageFact[] = [];
  readonly jobs: JobFact[] = [];
  readonly uploads: UploadFact[] = [];
  readonly target: SpaceFact;
  readonly agent: AgentFact;
  readonly source: SourceFact;

  private readonly newId: IdStyle;
  private readonly isCoarse: boolean;
  private count = 16;
  /** Replies that appear at the second next read of the history. */
  private waiting: { readsLeft: number; readonly message: MessageFact }[] = [];

  /** @param isCoarse whether neighboring messages can have the same timestamp */
  constructor(newId: IdStyle, isCoarse = false, more: MoreFacts = {}) {
    this.newId = newId;
    this.isCoarse = isCoarse;
    if (more.defaultSpace !== undefined) this.addSpace(null, { name: more.defaultSpace, is_org_wide: true });
    for (const { external, name } of SPACES) this.addSpace(external, { name, description: `${name} and friends` });
    this.target = last(this.spaces);
    for (const space of this.spaces) {
      const names = space === this.target ? [...(more.agents ?? []), ...AGENTS] : ['Support'];
      for (const name of names) this.addAgent(space.space_id, { name, template_id: `tmpl_${name?.toLowerCase()}` });
    }
    this.agent = last(this.agents);
    const first = this.agents[0] ?? this.agent;
    const other = this.setUpSource(first.agent_id, {});
    this.source = this.setUpSource(this.agent.agent_id, { name: 'API chat', routing_mode: 'agent_inbox' });
    for (const [author, text] of TEXTS) {
      this.addMessage({ source_id: this.source.source_id, session_id: SESSION, author, text });
      this.addMessage({ source_id: this.source.source_id, session_id: 'ben', author, text: `Ben only: ${text}` });
      this.addMessage({ source_id: other.source_id, session_id: SESSION, author, text: `Elsewhere: ${text}` });
    }
    for (const [author, text] of more.messages ?? []) {
      this.addMessage({ source_id: this.source.source_id, session_id: SESSION, author, text });
    }
    const schedule = { type: 'cron', data: { minute: '30', hour: '7', day_of_week: '*' }, timezone: 'UTC' };
    const { agent_id } = first;
    this.addJob({ agent_id, name: 'daily', instructions: 'Greet the team.', schedule });
    this.addJob({ agent_id, name: 'weekly', instructions: 'Count the calls.', schedule });
    this.addJob({ agent_id: this.agent.agent_id, name: 'nightly', instructions: 'Sort the inbox.', schedule });
  }

  /** Creates a space, or returns the one with this external id. */
  addSpace(
    external: string | null,
    { name = '', description = '', is_org_wide = false }: Partial<SpaceFact>,
  ): SpaceFact {
    const known = this.spaces.find(({ external_space_id }) => external_space_id === external);
    if (known) return known;
    return add(this.spaces, {
      space_id: this.nextId('space'),
      external_space_id: external,
      name,
      description,
      is_org_wide,
    });
  }

  addAgent(space_id: Id, { name = '', template_id = '' }: Partial<AgentFact>): AgentFact {
    return add(this.agents, { agent_id: this.nextId('agent'), space_id, name, template_id });
  }

  /** Creates an agent's source, or returns it. */
  setUpSource(
    agent_id: Id,
    { name = 'API chat', reply_capable = true, routing_mode = 'agent_inbox' }: Partial<SourceFact>,
  ): SourceFact {
    const known = this.sources.find((source) => source.agent_id === agent_id);
    if (known) return known;
    return add(this.sources, { source_id: this.nextId('source'), agent_id, name, reply_capable, routing_mode });
  }

  addMessage(
    { source_id = '', session_id = '', author = 'user', text = '', external_message_id = null }: Partial<MessageFact>,
    at: 'now' | 'later' = 'now',
  ): MessageFact {
    const message = {
      message_id: this.nextId('message'),
      source_id,
      session_id,
      text,
      author,
      created_at: START + (this.isCoarse ? this.count - (this.count % COARSE_MINUTES) : this.count) * MINUTE,
      external_message_id,
    };
    if (at === 'now') return add(this.messages, message);
    this.waiting.push({ readsLeft: 1, message });
    return message;
  }

  addJob({ agent_id = '', name = '', instructions = '', schedule }: Partial<JobFact>): JobFact {
    return add(this.jobs, { cron_job_id: this.nextId('cron_job'), agent_id, name, instructions, schedule });
  }

  addUpload(kind: UploadKind, filename: string, content: Buffer): UploadFact {
    const sha256 = createHash('sha256').update(content).digest('hex');
    return add(this.uploads, { id: this.nextId(kind), kind, filename, sha256 });
  }

  /** The messages that a read of the history sees. Replies arrive between two reads. */
  readMessages(): readonly MessageFact[] {
    const seen = [...this.messages];
    for (const each of this.waiting) each.readsLeft -= 1;
    for (const { message } of this.waiting.filter(({ readsLeft }) => readsLeft <= 0)) add(this.messages, message);
    this.waiting = this.waiting.filter(({ readsLeft }) => readsLeft > 0);
    return seen;
  }

  /** The messages of a session, oldest first. */
  session(source_id: Id, session_id: string): MessageFact[] {
    return this.messages.filter((each) => each.source_id === source_id && each.session_id === session_id);
  }

  agentsOf(space_id: Id): AgentFact[] {
    return this.agents.filter((agent) => agent.space_id === space_id);
  }

  /** What exists twice and must not. */
  duplicates(): string[] {
    const names = [
      ...this.spaces.map(({ external_space_id }) => `space ${external_space_id}`),
      ...this.agents.map(({ space_id, name }) => `agent ${name} of space ${space_id}`),
      ...this.jobs.map(({ agent_id, name }) => `job ${name} of agent ${agent_id}`),
      ...this.messages.map(({ text, session_id, source_id }) => `message ${text} of ${session_id} in ${source_id}`),
      ...this.uploads.map(({ kind, filename }) => `${kind} ${filename}`),
    ];
    return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  }

  private nextId(resource: string): Id {
    this.count += 1;
    return this.newId(this.count, resource);
  }
}

function add<Item>(items: Item[], item: Item): Item {
  items.push(item);
  return item;
}

function last<Item>(items: readonly Item[]): Item {
  const item = items.at(-1);
  if (item === undefined) throw new Error('The list is empty.');
  return item;
}
