import { listAgents, listJobs, listSpaces } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import { probeSession } from '../api/session-probe.ts';
import { readAgent } from '../contract/agents.ts';
import { findId } from '../contract/fields.ts';
import type { JsonObject } from '../contract/json.ts';
import { SCOPE } from '../contract/scopes.ts';
import { NoOperationError, PartnerctlError, ShapeError } from '../errors.ts';
import type { Facts, ListRead, Probe } from './facts.ts';

/** No retries: a check reports the current state. */
export const READ_LIMITS = { retries: 0, timeoutMs: 10_000 };

/** Enough to check the shape of the items and, usually, of the second page. */
const MAX_ITEMS = 50;

interface Listing {
  readonly what: string;
  readonly scope: ListRead['scope'];
  readonly neededBy: string;
  readonly recordedAs: string;
}

const SPACES: Listing = {
  what: 'the list of spaces',
  scope: SCOPE.readSpaces,
  neededBy: 'spaces list, plan, provision, and spaces given by name',
  recordedAs: 'space',
};

const AGENTS: Listing = {
  what: 'the agents of a space',
  scope: SCOPE.readAgents,
  neededBy: 'agents list, plan, provision, and agents given by name',
  recordedAs: 'space',
};

const JOBS: Listing = {
  what: 'the list of scheduled jobs',
  scope: SCOPE.listJobs,
  neededBy: 'cron list and cron reconcile',
  recordedAs: 'cron',
};

/** All lists, for the test that compares their scopes with those of the commands. */
export const LISTINGS: readonly Pick<Listing, 'scope' | 'neededBy'>[] = [SPACES, AGENTS, JOBS];

async function probeList(
  { what, scope, neededBy, recordedAs }: Listing,
  list: AsyncIterable<JsonObject>,
): Promise<{ readonly read: ListRead; readonly items: readonly JsonObject[] }> {
  const items: JsonObject[] = [];
  const read = { what, scope, neededBy, recordedAs };
  try {
    for await (const item of list) {
      items.push(item);
      if (items.length >= MAX_ITEMS) break;
    }
    return { read: { ...read, error: undefined }, items };
  } catch (error) {
    if (error instanceof PartnerctlError) return { read: { ...read, error }, items };
    throw error;
  }
}

/** The id of a space; undefined if it cannot be decoded, which `checkContractValues` reports. */
function idOf(space: JsonObject, http: Http): string | undefined {
  try {
    return findId(space, http.contract, 'space.id');
  } catch {
    return undefined;
  }
}

/** The id of a source of one of the agents; undefined if none shows one. */
function sourceOf(agents: readonly JsonObject[], http: Http): string | undefined {
  for (const agent of agents) {
    try {
      const { source_id } = readAgent(agent, http.contract);
      if (typeof source_id === 'string') return source_id;
    } catch {
      // `checkContractValues` reports agents that cannot be decoded.
    }
  }
  return undefined;
}

/**
 * Reads each list once: the spaces, the agents of one space, and the scheduled jobs. If an agent shows its source, also asks
 * for the history of a session that does not exist.
 * @returns no lists if the probe failed for a reason that applies to every call
 */
export async function probeLists(http: Http, { status, error }: Probe): Promise<Pick<Facts, 'lists' | 'session'>> {
  const allWouldFail = error !== undefined && status !== 403 && !(error instanceof ShapeError);
  if (allWouldFail) return { lists: [], session: undefined };
  const spaces = await probeList(SPACES, listSpaces(http, READ_LIMITS));
  const id = spaces.items.map((space) => idOf(space, http)).find((found) => found !== undefined);
  const agents = id === undefined ? undefined : await probeList(AGENTS, listAgents(http, id, READ_LIMITS));
  const jobs = await probeList(JOBS, listJobs(http, READ_LIMITS));
  const reads = [spaces, ...(agents ? [agents] : []), jobs].map(({ read }) => read);
  const source = sourceOf(agents?.items ?? [], http);
  return {
    lists: reads.filter((read) => !(read.error instanceof NoOperationError)),
    session: source === undefined ? undefined : await probeSession(http, source),
  };
}
