import { listAgents, listJobs, listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { readAgent } from '../contract/agents.ts';
import type { JsonObject } from '../contract/json.ts';
import { readSpace } from '../contract/spaces.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import { toListedJob } from '../cron/service-jobs.ts';
import { InterruptedError, PartnerctlError, ShapeError } from '../errors.ts';
import { mapConcurrent } from '../platform/emitted.ts';
import type { CacheLine } from './cache.ts';

/** The cache lines from the service's lists. Those of lists that cannot be read are missing. */
export interface ReadLists {
  readonly space?: SpaceLines;
  readonly agent?: AgentLines;
  readonly job?: readonly CacheLine[];
  /** The spaces whose agents were read. */
  readonly spaces: readonly string[];
  /** The first error of a list that cannot be read. */
  readonly failure: PartnerctlError | undefined;
}

interface SpaceLines {
  readonly ids: readonly CacheLine[];
  readonly ext: readonly CacheLine[];
  readonly names: readonly CacheLine[];
}

type AgentLines = Omit<SpaceLines, 'ext'>;

const MAX_ITEMS = 10_000;
const MAX_SPACES = 20;
/** How many spaces to read the agents of, even if nobody asked for them. */
const FIRST_SPACES = 5;
const CONCURRENCY = 4;

/** Decodes the items of a list, and skips those that cannot be decoded. */
async function collect<Value>(items: AsyncIterable<JsonObject>, read: (item: JsonObject) => Value): Promise<Value[]> {
  const values: Value[] = [];
  for await (const item of items) {
    try {
      values.push(read(item));
    } catch (error) {
      if (!(error instanceof UnknownShape || error instanceof ShapeError)) throw error;
    }
    if (values.length >= MAX_ITEMS) break;
  }
  return values;
}

function line(value: string, description: string | null | undefined, owner: string): CacheLine {
  return { value, description: description ?? '', owner };
}

async function readSpaces(http: Http): Promise<SpaceLines> {
  const spaces = await collect(listSpaces(http), (item) => readSpace(item, http.contract));
  return {
    ids: spaces.map(({ space_id: id, name, external_space_id: ext }) => line(id, name ?? ext, id)),
    ext: spaces.flatMap(({ space_id: id, name, external_space_id: ext }) =>
      ext ? line(`ext:${ext}`, name ?? id, id) : [],
    ),
    names: spaces.flatMap(({ space_id: id, name }) => (name ? line(`name:${name}`, id, id) : [])),
  };
}

async function readAgents(http: Http, spaceId: string): Promise<AgentLines> {
  const agents = await collect(listAgents(http, spaceId), (item) => readAgent(item, http.contract));
  return {
    ids: agents.map(({ agent_id: id, name }) => line(id, name, spaceId)),
    names: agents.flatMap(({ agent_id: id, name }) => (name ? line(`name:${name}`, id, spaceId) : [])),
  };
}

async function readJobs(http: Http): Promise<readonly CacheLine[]> {
  return collect(listJobs(http), (item) => {
    const { cron_job_id, name, agent_id } = toListedJob(item, http.contract);
    return line(cron_job_id, name, agent_id ?? '');
  });
}

/**
 * Reads the lists that completion offers.
 * @param wanted the ids of spaces whose agents are wanted, the most important first
 * @throws InterruptedError; the failure of a list is part of the result
 */
export async function readLists(http: Http, wanted: readonly string[]): Promise<ReadLists> {
  const failures: PartnerctlError[] = [];
  async function attempt<Value>(read: Promise<Value>): Promise<Value | undefined> {
    try {
      return await read;
    } catch (error) {
      if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
      failures.push(error);
      return undefined;
    }
  }
  const [space, job] = await Promise.all([attempt(readSpaces(http)), attempt(readJobs(http))]);
  const listed = space?.ids.slice(0, FIRST_SPACES).map(({ value }) => value) ?? [];
  const spaces = [...new Set([...wanted, ...listed])].slice(0, MAX_SPACES);
  const found: AgentLines[] = [];
  if (space) {
    const read = (id: string): Promise<AgentLines | undefined> => attempt(readAgents(http, id));
    for await (const lines of mapConcurrent(spaces, CONCURRENCY, read)) if (lines) found.push(lines);
  }
  const agent = { ids: found.flatMap(({ ids }) => ids), names: found.flatMap(({ names }) => names) };
  return { ...(space && { space, agent }), ...(job && { job }), spaces, failure: failures[0] };
}
