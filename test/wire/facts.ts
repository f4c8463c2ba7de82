/** A thing that the service has, under the names of the specification: the truth that every cell is judged by. */
export type Fact = Readonly<Record<string, unknown>>;

export type Resource = 'space' | 'agent' | 'source' | 'message' | 'cron_job' | 'document' | 'file_attachment';

/** The resources that are listed. */
export type Listed = 'space' | 'agent' | 'cron_job' | 'message';

export type Id = string | number;

/** How a service generates ids, from a number that grows. */
export type IdStyle = (number: number, resource: Resource) => Id;

const hex = (number: number, length: number): string => number.toString(16).padStart(length, '0');

export const prefixed: IdStyle = (number, resource) => `${resource.slice(0, 3)}_${number.toString(36)}x`;
export const numbers: IdStyle = (number) => 41_000 + number;
export const digits: IdStyle = (number) => String(880_000 + number);
/** 19 digits, more than a JavaScript number can hold. */
export const snowflakes: IdStyle = (number) => `11774563218900${40_000 + number}`;
/** The same, sent as numbers. */
export const bigNumbers: IdStyle = (number) => `21774563218900${40_000 + number}`;
/** In no order: the multiplication scatters them. */
export const uuids: IdStyle = (number) =>
  `${hex((number * 2_654_435_761) % 2 ** 32, 8)}-0c1f-4d27-8a3e-5b60${hex(number, 8)}`;
export const objectIds: IdStyle = (number) => `65f0c1a2b3d4e5f6${hex(number, 8)}`;

/** The conversation that the commands read, and the space, the last one, whose last agent they talk to. */
export const SESSION = 'anna';
const START = Date.UTC(2026, 2, 2, 9);
const SCHEDULE = { type: 'cron', data: { minute: '30', hour: '7', day_of_week: '*' }, timezone: 'UTC' };
const NAMES = ['Acme', 'Globex', 'Initech', 'Umbrella', 'Hooli', 'Stark', 'Wonka', 'Tyrell', 'Cyberdyne', 'Soylent'];

/** The data of one service: two full pages of spaces and jobs, and more; one of agents and messages, and more. */
export class Facts {
  readonly spaces: Fact[] = [];
  readonly agents: Fact[] = [];
  readonly sources: Fact[] = [];
  readonly messages: Fact[] = [];
  readonly jobs: Fact[] = [];
  readonly uploads: Fact[] = [];
  readonly space: Fact;
  readonly agent: Fact;
  readonly source: Fact;
  private readonly newId: IdStyle;
  private count = 16;

  /** @param size the number of items on a page */
  constructor(newId: IdStyle, size: number) {
    this.newId = newId;
    for (let index = 0; index < 2 * size + 1; index += 1) this.addAnotherSpace();
    this.space = last(this.spaces);
    const other = this.addAgent(this.spaces[0]?.space_id, 'Support', 'tmpl_support');
    for (let index = 0; index < size + 1; index += 1) this.addAnotherAgent();
    for (let index = 0; index < 2 * size + 1; index += 1) this.addAnotherJob();
    this.agent = last(this.agents);
    const elsewhere = this.setUpSource(other.agent_id, {});
    this.source = this.setUpSource(this.agent.agent_id, {});
    for (let index = 1; index <= size + 2; index += 1) {
      const author = index % 2 === 1 ? 'user' : 'assistant';
      this.addMessage(this.source.source_id, SESSION, author, `Message ${index}`);
      this.addMessage(this.source.source_id, 'ben', author, `Ben's ${index}`);
      this.addMessage(elsewhere.source_id, SESSION, author, `Elsewhere ${index}`);
    }
  }

  /** Creates a space, or returns the one with this external id. */
  addSpace(external_space_id: unknown, fields: Fact): Fact {
    const known = this.spaces.find((space) => space.external_space_id === external_space_id);
    const { name, description, is_org_wide = false } = fields;
    return known ?? this.add(this.spaces, 'space', { external_space_id, name, description, is_org_wide });
  }

  /** Installs an agent, or returns the one of this name. */
  addAgent(space_id: unknown, name: unknown, template_id: unknown): Fact {
    const known = this.agentsOf(space_id).find((agent) => agent.name === name);
    return known ?? this.add(this.agents, 'agent', { space_id, name, template_id });
  }

  /** Creates the source of an agent, or returns it. */
  setUpSource(
    agent_id: unknown,
    { name = 'API chat', reply_capable = true, routing_mode = 'agent_inbox' }: Fact,
  ): Fact {
    const known = this.sources.find((source) => source.agent_id === agent_id);
    return known ?? this.add(this.sources, 'source', { agent_id, name, reply_capable, routing_mode });
  }

  addMessage(
    source_id: unknown,
    session_id: unknown,
    author: unknown,
    text: unknown,
    external_message_id?: unknown,
  ): Fact {
    const created_at = START + this.count * 60_000;
    return this.add(this.messages, 'message', { source_id, session_id, external_message_id, author, text, created_at });
  }

  addJob({ agent_id, name, instructions, schedule }: Fact): Fact {
    return this.add(this.jobs, 'cron_job', { agent_id, name, instructions, schedule });
  }

  addAnotherSpace(): Fact {
    const number = this.spaces.length;
    const name = `${NAMES[number % NAMES.length]}${number < NAMES.length ? '' : ` ${number}`}`;
    return this.addSpace(`customer-${100 + number}`, { name, description: `${name} and friends` });
  }

  addAnotherAgent(): Fact {
    const number = this.agents.length;
    return this.addAgent(this.space.space_id, `Agent ${number}`, `tmpl_${number}`);
  }

  addAnotherJob(): Fact {
    const { agent_id } = this.agents[1 + (this.jobs.length % (this.agents.length - 1))] ?? {};
    return this.addJob({ agent_id, name: `job ${this.jobs.length}`, instructions: 'Greet.', schedule: SCHEDULE });
  }

  /** The resources of a list. */
  listed(resource: Listed): Fact[] {
    return { space: this.spaces, agent: this.agents, cron_job: this.jobs, message: this.messages }[resource];
  }

  addUpload(kind: 'document' | 'file_attachment', filename: unknown, size: unknown): Fact {
    return this.add(this.uploads, kind, { filename, size });
  }

  agentsOf(space_id: unknown): Fact[] {
    return this.agents.filter((agent) => agent.space_id === space_id);
  }

  /** The messages of a session, oldest first. */
  session(source_id: unknown, session_id: unknown): Fact[] {
    return this.messages.filter((each) => each.source_id === source_id && each.session_id === session_id);
  }

  /** What exists twice although no command was to create it twice. */
  duplicates(): string[] {
    const names = [
      ...this.jobs.map(({ agent_id, name }) => `job ${name} of agent ${agent_id}`),
      ...this.messages.map(({ text, session_id, source_id }) => `message ${text} of ${session_id} in ${source_id}`),
      ...this.uploads.map(({ filename }) => `upload ${filename}`),
    ];
    return names.filter((name, index) => names.indexOf(name) !== index);
  }

  private add(facts: Fact[], resource: Resource, fields: Fact): Fact {
    this.count += 1;
    const fact = { [`${resource}_id`]: this.newId(this.count, resource), ...fields };
    facts.push(fact);
    return fact;
  }
}

function last(facts: readonly Fact[]): Fact {
  const fact = facts.at(-1);
  if (fact === undefined) throw new Error('The list is empty.');
  return fact;
}
