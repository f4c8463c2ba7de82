import type { Http } from '../api/http.ts';
import { ListUnavailable, toListFailure } from '../api/list-failure.ts';
import { parseReference, type Reference, resolveSpaceId } from '../api/references.ts';
import { SpaceAgents } from '../api/space-agents.ts';
import type { ListedAgent } from '../contract/agents.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ListedSpace } from '../contract/spaces.ts';
import { comparableAgent } from '../contract/values.ts';
import { JOB_LIST } from '../cron/job-list.ts';
import type { JobRow, OwnerAgents } from '../cron/job-rows.ts';
import { type ListContext, listJobsOf } from '../cron/list.ts';
import { NoOperationError, NotFoundError, PartnerctlError } from '../errors.ts';
import { readAgentSpaces } from '../provision/space-record.ts';
import { listAgentRows, listSpaceRows } from './list.ts';

/** A space, its agents with their chats, and their jobs. */
export interface SpaceView {
  readonly space: ListedSpace;
  readonly item: JsonObject;
  readonly agents: readonly (ListedAgent & { readonly item: JsonObject })[];
  /** Undefined if the jobs cannot be listed. */
  readonly jobs: readonly JobRow[] | undefined;
}

/** @throws NotFoundError if no space matches, UsageError if several do; as `listSpaces` */
async function findSpace(http: Http, { by, value }: Reference): Promise<Pick<SpaceView, 'space' | 'item'>> {
  const field = by === 'id' ? 'space_id' : by;
  const found: Pick<SpaceView, 'space' | 'item'>[] = [];
  for await (const row of listSpaceRows(http)) if (row.space[field] === value) found.push(row);
  const [only] = found;
  if (only && found.length === 1) return only;
  // It names the candidates.
  await resolveSpaceId(http, { by, value });
  throw new NotFoundError(`The list of spaces has no space ${JSON.stringify(value)}.`, {
    hint: 'List the spaces with: partnerctl spaces list',
  });
}

async function readAgents(http: Http, spaceId: string): Promise<SpaceView['agents']> {
  const own = new SpaceAgents(spaceId);
  const agents: SpaceView['agents'][number][] = [];
  for await (const row of await listAgentRows(http, spaceId)) if (own.includes(row)) agents.push(row);
  own.check();
  return agents;
}

/** Reads the jobs of the agents. @returns undefined, after a warning, if they cannot be listed */
async function readJobs(context: ListContext, agents: OwnerAgents): Promise<readonly JobRow[] | undefined> {
  const onLeftOut = (count: number) =>
    context.warn(`the service does not say which agent runs ${count} of the jobs: they are not shown.`);
  const jobs: JobRow[] = [];
  try {
    const hooks = { readSpaces: readAgentSpaces, onLeftOut };
    for await (const row of await listJobsOf(context, agents, hooks)) jobs.push(row);
    return jobs;
  } catch (error) {
    const failure = toListFailure(error, { name: JOB_LIST, wasRead: false, isPartlyRead: jobs.length > 0 });
    const isUnavailable = failure instanceof ListUnavailable || error instanceof NoOperationError;
    if (!(error instanceof PartnerctlError) || !isUnavailable) throw error;
    await context.warn(`the jobs cannot be listed: ${error.message}`);
    return undefined;
  }
}

/**
 * Reads all that the service and the state have of a space.
 * @param typed a space_id, `ext:<external_space_id>`, or `name:<name>`
 * @throws NotFoundError if no space matches, UsageError if several do; the errors of the lists of spaces and agents
 */
export async function showSpace(context: ListContext, typed: string): Promise<SpaceView> {
  const http = await context.http();
  context.progress.start('Reading the space');
  const found = await findSpace(http, parseReference(typed));
  const { space_id, external_space_id } = found.space;
  const agents = await readAgents(http, space_id);
  const jobs = await readJobs(context, {
    ids: new Set(agents.map(({ agent_id }) => comparableAgent(agent_id))),
    ...(external_space_id && { external_space_id }),
  });
  return { ...found, agents, jobs };
}
