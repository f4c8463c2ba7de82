import pLimit from 'p-limit';
import * as v from 'valibot';
import type { Http } from '../api/http.ts';
import { CHAT_DEFAULTS } from '../contract/chat-fields.ts';
import { isJsonObject } from '../contract/json.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { ListedAgent, ListedCronJob, WireSchedule } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import { JOB_KIND, toNfc } from '../cron/job.ts';
import { JobLists, listNamedJobs } from '../cron/job-list.ts';
import { systemClock } from '../platform/clock.ts';
import { hasName } from '../provision/differences.ts';
import type { ManifestDocument } from '../provision/manifest.ts';
import { type Observation, Observer, type PresentSpace } from '../provision/observe.ts';
import { jobsByAgent } from '../provision/snapshot.ts';
import { scheduleSchema } from '../sandbox/cron.ts';
import type { Agent, ChatSource, CronJob, Space } from '../sandbox/rows.ts';
import type { LogRecord } from '../state/record.ts';
import { readFacts } from '../state/space-record.ts';
import { Standings } from '../state/standing.ts';

/** What exists at the service, as a sandbox stores it, with the ids of the service. */
export interface Mirror {
  readonly spaces: Space[];
  readonly agents: Agent[];
  readonly sources: ChatSource[];
  readonly cronJobs: CronJob[];
  /** What the state recorded about the service. */
  readonly records: readonly LogRecord[];
  /** The base URL of the service. */
  readonly origin: string;
  /** The scopes of the lists that the token may not read, or that the service does not have. */
  readonly missingScopes: readonly string[];
}

export function emptyMirror(): Mirror {
  return { spaces: [], agents: [], sources: [], cronJobs: [], records: [], origin: '', missingScopes: [] };
}

/** The records about one service, as if they were about another. */
export function moveRecords({ records, origin: from }: Mirror, origin: string): LogRecord[] {
  return records.flatMap((record) => {
    const { data } = record;
    // What ends a reservation names only its id.
    if ((isJsonObject(data) ? data.origin : (record.origin ?? from)) !== from) return [];
    return [isJsonObject(data) ? { ...record, data: { ...data, origin } } : { ...record, origin }];
  });
}

/** So old that no `stale` fault hides it. */
const created_at = new Date(0).toISOString();

function toSpace({ space_id, ...listed }: PresentSpace, external_space_id: string): Space {
  const { name, description, is_org_wide } = listed;
  const shown = { name: name ?? '', description: description ?? '', is_org_wide: is_org_wide === true };
  return { space_id, external_space_id, ...shown, created_at };
}

/** What is known of an agent where the service lists none. */
type KnownAgent = Pick<ListedAgent, 'agent_id' | 'name' | 'template_id' | 'source_id' | 'source'>;

/** Where the service shows no templates, the recorded one counts, else that of the manifest, as in `pairAgents`. */
function toAgent(agent: KnownAgent, space_id: string, { fact }: Observation, { manifest }: ManifestDocument): Agent {
  const { agent_id, name = '', template_id: shown } = agent;
  const recorded = fact?.agents.find((each) => each.agent_id === agent_id);
  const named = manifest.agents.find((wanted) => hasName(agent, wanted.name));
  return { agent_id, space_id, template_id: shown ?? (recorded ?? named)?.template_id ?? '', name, created_at };
}

function toSource({ agent_id, source_id, source }: KnownAgent, space_id: string): ChatSource[] {
  if (typeof source_id !== 'string') return [];
  const { name = CHAT_DEFAULTS.name, reply_capable = CHAT_DEFAULTS.reply_capable } = source ?? {};
  const routing_mode = source?.routing_mode === 'session_workflow' ? 'session_workflow' : 'agent_inbox';
  return [{ source_id, space_id, agent_id, name, reply_capable, routing_mode, created_at }];
}

/** What the service does not show of a job, or the sandbox cannot run, counts as equal to the manifest. */
function toJob(
  { cron_job_id, name: shown, instructions, schedule: listed }: ListedCronJob,
  agent: Agent,
  { manifest }: ManifestDocument,
): CronJob {
  const name = shown ?? '';
  const { agent_id } = agent;
  const { cron = [] } = manifest.agents.find((wanted) => hasName(agent, wanted.name)) ?? {};
  const wanted = cron.find((job) => toNfc(job.name) === toNfc(name));
  const { timezone = 'UTC', schedule: fields = { minute: '0', hour: '0', day_of_week: '*' } } = wanted ?? {};
  const toSchedule = ({ minute, hour, day_of_week, ...zone }: Partial<WireSchedule> & typeof fields) =>
    ({ type: 'cron', data: { minute, hour, day_of_week }, timezone: zone.timezone ?? timezone }) as const;
  const schedule = toSchedule(listed ?? fields);
  return {
    ...{ cron_job_id, agent_id, name, instructions: instructions ?? wanted?.instructions ?? '' },
    schedule: v.is(scheduleSchema, schedule) ? schedule : toSchedule(fields),
    ...{ created_at, last_run_at: null, next_run_at: null },
  };
}

/** The jobs that the state recorded, as a list that shows no instructions would have them. */
function recordedJobs(records: readonly LogRecord[], origin: string): ListedCronJob[] {
  const recorded = new Standings(JOB_KIND).add(records).objects();
  return recorded
    .filter(({ data }) => data.origin === origin)
    .map(({ object, data: { agent_id, name, schedule } }) => {
      const shown = { agent_text: undefined, instructions: undefined, schedule: schedule ?? undefined };
      return { cron_job_id: object, agent_id, name, ...shown };
    });
}

/** The lists that a mirror is read from. */
const LISTS = { spaces: OPERATIONS.listSpaces, agents: OPERATIONS.listAgents, jobs: OPERATIONS.listCronJobs };

/**
 * Reads the spaces of the documents, their agents with chat sources, and their jobs. Sends only reads. As for
 * provisioning, what cannot be listed is what the state recorded.
 * @returns what exists, and the names of the lists that the token may not read
 * @throws PartnerctlError if a list cannot be read now, or cannot be understood
 */
export async function readMirror(
  http: Http,
  documents: readonly ManifestDocument[],
  records: readonly LogRecord[],
): Promise<{ readonly mirror: Mirror; readonly unreadable: readonly string[] }> {
  const { baseUrl: origin } = http;
  const unreadable = new Set<keyof typeof LISTS>();
  const onUnavailable = async (list: 'spaces' | 'agents') => void unreadable.add(list);
  const observer = new Observer({ http, documents, facts: readFacts(records, origin), onUnavailable });
  await observer.prepare();
  const limit = pLimit(4);
  const observed = await Promise.all(
    documents.map((document) => limit(async () => ({ document, seen: await observer.observe(document) }))),
  );
  const listed = await new JobLists({ list: () => listNamedJobs(http), clock: systemClock, hint: () => '' }).recent();
  if (!('jobs' in listed)) unreadable.add('jobs');
  const jobs = jobsByAgent('jobs' in listed ? listed.jobs.values() : recordedJobs(records, origin));
  const missingScopes = [...unreadable].map((list) => LISTS[list].scope);
  const mirror = { ...emptyMirror(), records, origin, missingScopes };
  for (const { document, seen } of observed) {
    const { space } = seen;
    if (!space) continue;
    mirror.spaces.push(toSpace(space, document.manifest.external_space_id));
    // As they are listed, or else as the state recorded them.
    for (const known of seen.agents ?? seen.fact?.agents ?? []) {
      const agent = toAgent(known, space.space_id, seen, document);
      const own = jobs.get(comparableAgent(agent.agent_id)) ?? [];
      mirror.agents.push(agent);
      mirror.sources.push(...toSource(known, space.space_id));
      mirror.cronJobs.push(...own.map((job) => toJob(job, agent, document)));
    }
  }
  return { mirror, unreadable: [...unreadable] };
}
