import pLimit from 'p-limit';
import * as v from 'valibot';
import type { Http } from '../api/http.ts';
import { CHAT_DEFAULTS } from '../chat/chat-fields.ts';
import type { ListedAgent, ListedCronJob, WireSchedule } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import { toNfc } from '../cron/job.ts';
import { JobLists, listNamedJobs } from '../cron/service-jobs.ts';
import { systemClock } from '../platform/clock.ts';
import { hasName } from '../provision/differences.ts';
import type { ManifestDocument } from '../provision/manifest.ts';
import { Observer, type PresentSpace } from '../provision/observe.ts';
import { jobsByAgent } from '../provision/snapshot.ts';
import { scheduleSchema } from '../sandbox/cron.ts';
import type { Agent, ChatSource, CronJob, Space } from '../sandbox/rows.ts';

/** What exists at the service, as a sandbox stores it, with the ids of the service. */
export interface Mirror {
  readonly spaces: Space[];
  readonly agents: Agent[];
  readonly sources: ChatSource[];
  readonly cronJobs: CronJob[];
}

export function emptyMirror(): Mirror {
  return { spaces: [], agents: [], sources: [], cronJobs: [] };
}

/** So old that no `stale` fault hides it. */
const created_at = new Date(0).toISOString();

function toSpace({ space_id, ...listed }: PresentSpace, external_space_id: string): Space {
  const { name, description, is_org_wide } = listed;
  const shown = { name: name ?? '', description: description ?? '', is_org_wide: is_org_wide === true };
  return { space_id, external_space_id, ...shown, created_at };
}

/** Where the service shows no templates, the one of the manifest counts, as in `pairAgents`. */
function toAgent(agent: ListedAgent, space_id: string, { manifest }: ManifestDocument): Agent {
  const { agent_id, name = '', template_id: shown } = agent;
  const template_id = shown ?? manifest.agents.find((wanted) => hasName(agent, wanted.name))?.template_id ?? '';
  return { agent_id, space_id, template_id, name, created_at };
}

function toSource({ agent_id, source_id, source }: ListedAgent, space_id: string): ChatSource[] {
  if (typeof source_id !== 'string') return [];
  const { name = CHAT_DEFAULTS.name, reply_capable = CHAT_DEFAULTS.reply_capable } = source ?? {};
  const routing_mode = source?.routing_mode === 'session_workflow' ? 'session_workflow' : 'agent_inbox';
  return [{ source_id, space_id, agent_id, name, reply_capable, routing_mode, created_at }];
}

/** What the service does not show of a job, or the sandbox cannot run, counts as equal to the manifest. */
function toJob(
  { cron_job_id, name: shown, instructions, schedule: listed }: ListedCronJob,
  { agent_id, name: agentName }: Agent,
  { manifest }: ManifestDocument,
): CronJob {
  const name = shown ?? '';
  const { cron = [] } = manifest.agents.find((agent) => agent.name === agentName) ?? {};
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

/**
 * Reads the spaces of the documents, their agents with chat sources, and their jobs. Sends only reads.
 * @returns what exists, and the lists that the token may not read: what they have is missing
 * @throws PartnerctlError if a list cannot be read now, or cannot be understood
 */
export async function readMirror(
  http: Http,
  documents: readonly ManifestDocument[],
): Promise<{ readonly mirror: Mirror; readonly unreadable: readonly string[] }> {
  const unreadable = new Set<string>();
  const onUnavailable = async (list: string) => void unreadable.add(list);
  const observer = new Observer({ http, documents, facts: new Map(), onUnavailable });
  await observer.prepare();
  const limit = pLimit(4);
  const observed = await Promise.all(
    documents.map((document) => limit(async () => ({ document, ...(await observer.observe(document)) }))),
  );
  const listed = await new JobLists({ list: () => listNamedJobs(http), clock: systemClock, hint: () => '' }).recent();
  if (!('jobs' in listed)) unreadable.add('jobs');
  const jobs = jobsByAgent('jobs' in listed ? listed.jobs.values() : []);
  const mirror = emptyMirror();
  for (const { document, space, agents = [] } of observed) {
    if (!space) continue;
    mirror.spaces.push(toSpace(space, document.manifest.external_space_id));
    for (const found of agents) {
      const agent = toAgent(found, space.space_id, document);
      const own = jobs.get(comparableAgent(agent.agent_id)) ?? [];
      mirror.agents.push(agent);
      mirror.sources.push(...toSource(found, space.space_id));
      mirror.cronJobs.push(...own.map((job) => toJob(job, agent, document)));
    }
  }
  return { mirror, unreadable: [...unreadable] };
}
