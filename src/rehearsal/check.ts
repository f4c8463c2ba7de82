import { toNfc } from '../cron/job.ts';
import type { Store } from '../sandbox/store.ts';
import type { Mirror } from './mirror.ts';
import type { Ended } from './stage.ts';

/** What is wrong after a seed. `failed`: a run ended with an error. */
export interface Problem {
  readonly kind: 'failed' | 'missing' | 'twice';
  readonly message: string;
}

/** Describes how a run failed: the error that ends its stderr. */
export function describeFailure(command: string, { exitCode, stderr }: Ended): string {
  // A hint would name the state and the keys of the sandbox.
  const [error = ''] = stderr.slice(Math.max(0, stderr.lastIndexOf('error: '))).split('\nhint:');
  return `${command} exited with ${exitCode}: ${error.trim().replace(/\s*\n\s*/g, ' ')}`;
}

/** The query that selects the steps of a plan, for `findMissing`. */
export const STEPS_QUERY = 'spaces[?actions].[external_space_id, to_string(actions[].[op, name])]';

/** The spaces with steps that are still to be done. @param rows what the query selects, as TSV */
export function findMissing(rows: string): Problem[] {
  const spaces = rows.split('\n').filter((row) => row !== '');
  return spaces.map((row) => ({ kind: 'missing', message: `still to do in ${row.replace('\t', ': ')}` }));
}

function groupThings({
  spaces,
  agents,
  cronJobs,
}: Pick<Mirror, 'spaces' | 'agents' | 'cronJobs'>): ReadonlyMap<string, readonly string[]> {
  const external = new Map(spaces.map(({ space_id, external_space_id }) => [space_id, external_space_id]));
  const groups = new Map<string, string[]>();
  const add = (what: string, id: string): void => {
    groups.set(what, [...(groups.get(what) ?? []), id]);
  };
  const described = new Map<string, string>();
  for (const { space_id, external_space_id } of spaces) add(`spaces ${external_space_id}`, space_id);
  for (const { agent_id, space_id, name, template_id } of agents) {
    described.set(agent_id, `${JSON.stringify(toNfc(name))} (${template_id}) in ${external.get(space_id)}`);
    add(`agents ${described.get(agent_id)}`, agent_id);
  }
  for (const { cron_job_id, agent_id, name } of cronJobs)
    add(`jobs ${JSON.stringify(toNfc(name))} of agent ${described.get(agent_id)}`, cron_job_id);
  return groups;
}

/** The spaces, agents, and jobs that exist more than once, and more often than in the mirror. */
export function findDuplicates({ spaces, agents, cronJobs }: Store, mirror: Mirror): Problem[] {
  const before = groupThings(mirror);
  return [...groupThings({ spaces: spaces.all(), agents: agents.all(), cronJobs: cronJobs.all() })]
    .filter(([what, ids]) => ids.length > (before.get(what)?.length ?? 1))
    .map(([what, ids]) => ({ kind: 'twice', message: `${ids.length} ${what}: ${ids.join(', ')}` }));
}
