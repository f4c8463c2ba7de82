import { readCreated } from './body.ts';
import type { Contract } from './contract.ts';
import { byNormalName, normalizeName } from './field-names.ts';
import { Fields } from './fields.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { UnknownShape } from './unknown-shape.ts';
import { asId, isTextOrNumber } from './values.ts';

/* How spaces, agents, their sources, uploads, and scheduled jobs are read (spec §2). Messages have a module of their own. */

/** A listed space. A field is undefined if the service did not send it, and null if it says that there is none. */
export interface ListedSpace {
  readonly space_id: string;
  readonly external_space_id: string | null | undefined;
  readonly name: string | undefined;
  readonly description: string | null | undefined;
  /** A text if the service sent anything other than a boolean. */
  readonly is_org_wide: boolean | string | undefined;
  /** The object as the service sent it. */
  readonly item: JsonObject;
}

/** Reads one space of a list. @throws UnknownShape if it has no id, or if a field that was sent cannot be read */
export function readSpace(object: JsonObject, contract: Contract): ListedSpace {
  const fields = new Fields(object, 'space', contract);
  const orgWide = fields.value('space.is_org_wide');
  return {
    space_id: fields.readId('space.id'),
    external_space_id: fields.shownText('space.external_space_id'),
    name: fields.shownText('space.name') ?? undefined,
    description: fields.shownText('space.description'),
    is_org_wide: typeof orgWide === 'boolean' ? orgWide : fields.text('space.is_org_wide'),
    item: object,
  };
}

/** The settings of an API chat source. What the service does not show is undefined. */
interface SourceSettings {
  readonly name: string | undefined;
  readonly reply_capable: boolean | undefined;
  readonly routing_mode: string | undefined;
}

function readSettings(fields: Fields): SourceSettings {
  const replyCapable = fields.value('source.reply_capable');
  return {
    name: fields.text('source.name'),
    reply_capable: typeof replyCapable === 'boolean' ? replyCapable : undefined,
    routing_mode: fields.text('source.routing_mode'),
  };
}

/** An API chat source that was set up (spec §4.2). */
export interface ChatSource extends SourceSettings {
  readonly source_id: string;
  /** False if the source existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
  readonly raw: JsonObject;
}

/** Reads the response to setting up API chat. @throws UnknownShape as `readCreated`, or for a text that is none */
export function readChatSource(body: unknown, contract: Contract): ChatSource {
  const { id, created, fields, object } = readCreated(body, 'source', contract);
  return { source_id: id, created, ...readSettings(fields), raw: object };
}

export interface ListedAgent {
  readonly agent_id: string;
  readonly name: string | undefined;
  /** The spec mentions it only in requests; undefined if the service does not return it. */
  readonly template_id: string | undefined;
  /** The API chat source from the integration metadata: null if there is none, undefined if it is not mentioned. */
  readonly source_id: string | null | undefined;
  readonly source?: SourceSettings | undefined;
  /** The object as the service sent it. */
  readonly item: JsonObject;
}

/** Reads an agent's source. @throws UnknownShape if several places name different ones: an agent has one (spec §2) */
function readSource(agent: JsonObject, fields: Fields, contract: Contract): Pick<ListedAgent, 'source_id' | 'source'> {
  const id = fields.id('agent.source_id');
  const found = fields.all('agent.source_id');
  if (id === undefined) return { source_id: found.some(({ value }) => value === null) ? null : undefined };
  const holder = found.find(({ value }) => asId(value) === id)?.object;
  // The fields beside it at the top are those of the agent.
  const isOwn = holder !== undefined && holder !== agent;
  return { source_id: id, source: isOwn ? readSettings(new Fields(holder, 'source', contract)) : undefined };
}

/** Reads one agent of a list. @throws UnknownShape if it has no id, or if a field that was sent cannot be read */
export function readAgent(agent: JsonObject, contract: Contract): ListedAgent {
  const fields = new Fields(agent, 'agent', contract);
  return {
    agent_id: fields.readId('agent.id'),
    name: fields.shownText('agent.name') ?? undefined,
    template_id: fields.text('agent.template_id'),
    item: agent,
    ...readSource(agent, fields, contract),
  };
}

/** The response to provisioning, whose shape spec §4.1 leaves open. */
export interface ProvisionResponse {
  readonly space_id: string;
  /** False if the space existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
  /** The agents that the response lists with an id. The caller finds the others in the space's list of agents. */
  readonly agents: readonly ListedAgent[];
  readonly unreadable: UnknownShape | undefined;
}

const AGENTS = ['agents', 'installedagents', 'agentinstalls', 'agentinstallations'];

/** Reads the response to provisioning. @throws UnknownShape as `readCreated` and `readAgent` */
export function readProvisionResponse(body: unknown, contract: Contract): ProvisionResponse {
  const { id, created, layers } = readCreated(body, 'space', contract);
  const entries = layers.toReversed().flatMap((layer) => Object.entries(layer));
  const lists = entries.filter(([key]) => AGENTS.includes(normalizeName(key))).map(([, value]) => value);
  const agents = (lists.find(Array.isArray) ?? []).filter(isJsonObject);
  const fieldsOf = (agent: JsonObject) => new Fields(agent, 'agent', contract);
  const withoutId = agents.find((agent) => fieldsOf(agent).id('agent.id') === undefined);
  return {
    space_id: id,
    created,
    agents: agents
      .filter((agent) => fieldsOf(agent).id('agent.id') !== undefined)
      .map((agent) => readAgent(agent, contract)),
    unreadable: withoutId && fieldsOf(withoutId).unreadable('agent.id', 'An installed agent has no id.'),
  };
}

export type UploadKind = 'attachment' | 'document';

/** Returns the name of the form field with the file itself. */
export function fileFieldOf(kind: UploadKind, contract: Contract): string {
  const leaf = kind === 'document' ? 'documents.create.file' : 'file_attachments.create.file';
  return contract.parameter(leaf)?.path[0] ?? 'file';
}

/** When a job runs: cron fields and a time zone, in the service's format. */
export interface WireSchedule {
  readonly minute: string;
  readonly hour: string;
  readonly day_of_week: string;
  /** As the service sent it; undefined if it sent none. */
  readonly timezone: string | undefined;
}

/** A scheduled job as the service lists it. Missing and unreadable fields are undefined. */
export interface ListedCronJob {
  readonly cron_job_id: string;
  readonly agent_id: string | undefined;
  /** A text in `agent`, which may be its id or its name. */
  readonly agent_text: string | undefined;
  /** Null if the service says that the job has none. */
  readonly name: string | null | undefined;
  readonly instructions: string | undefined;
  /** Undefined also if minute, hour, and day_of_week cannot be read, or cannot express it. */
  readonly schedule: WireSchedule | undefined;
}

/** Cron fields that `WireSchedule` cannot express. */
const UNSUPPORTED_FIELDS = ['dayofmonth', 'day', 'month', 'year', 'week', 'second'];
const UNRESTRICTED: readonly unknown[] = ['*', '?', null, undefined];

/** Returns the schedule if all three fields are present: the default of a missing one is unknown. */
function fromFields(fields: ReadonlyMap<string, unknown>, timezone: string | undefined): WireSchedule | undefined {
  if (!UNSUPPORTED_FIELDS.every((name) => UNRESTRICTED.includes(fields.get(name)))) return undefined;
  const [minute, hour, day_of_week] = ['minute', 'hour', 'dayofweek'].map((name) => {
    const value = fields.get(name);
    return isTextOrNumber(value) ? String(value).trim() : '';
  });
  return minute && hour && day_of_week ? { minute, hour, day_of_week, timezone } : undefined;
}

/** Reads a schedule as it was sent (spec §2), or an expression in its place: `0 9 * * 1-5`. */
function scheduleOf(job: Fields, contract: Contract): WireSchedule | undefined {
  const schedule = job.value('cron_job.schedule');
  const zone = job.text('cron_job.timezone')?.trim() || undefined;
  if (typeof schedule === 'string') {
    const [minute, hour, dayofmonth, month, dayofweek, ...others] = schedule.trim().split(/\s+/);
    const year = others.join(' ') || undefined;
    return fromFields(new Map(Object.entries({ minute, hour, dayofmonth, month, dayofweek, year })), zone);
  }
  if (!isJsonObject(schedule)) return undefined;
  const { type = 'cron', data = schedule } = Object.fromEntries(byNormalName(schedule));
  if (typeof type !== 'string' || !/^cron/i.test(type) || !isJsonObject(data)) return undefined;
  const own = new Fields(schedule, 'cron_job', contract).text('cron_job.timezone')?.trim();
  return fromFields(byNormalName(data), own || zone);
}

/** A text in `agent` may be a name. Taken for an id, it would assign the job to another agent. */
function agentOf(job: Fields): Pick<ListedCronJob, 'agent_id' | 'agent_text'> {
  const agent = job.objects.map((place) => byNormalName(place).get('agent')).find((each) => each !== undefined);
  const id = job.id('cron_job.agent_id');
  if (typeof agent === 'string') return { agent_id: id, agent_text: agent };
  return { agent_id: id ?? asId(agent) ?? job.shownText('cron_job.agent_id') ?? undefined, agent_text: undefined };
}

/** Reads one job of a list. @throws UnknownShape without an id, or if its name or agent was sent and cannot be read */
export function readCronJob(item: JsonObject, contract: Contract): ListedCronJob {
  const job = new Fields(item, 'cron_job', contract);
  const texts = job.all('cron_job.instructions').map(({ value }) => value);
  return {
    cron_job_id: job.readId('cron_job.id'),
    ...agentOf(job),
    name: job.shownText('cron_job.name'),
    instructions: texts.find((value) => typeof value === 'string'),
    schedule: scheduleOf(job, contract),
  };
}
