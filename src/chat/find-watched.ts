import { listAgents, SpaceAgents } from '../api/agents.ts';
import { readItem } from '../api/api-response.ts';
import type { Http } from '../api/http.ts';
import { parseReference, resolveSpaceId } from '../api/references.ts';
import type { Context } from '../cli/context.ts';
import { readAgent } from '../contract/agents.ts';
import { describeFix } from '../contract/assumptions.ts';
import { OPERATIONS } from '../contract/operations.ts';
import type { SessionRef } from '../state-old/session-ref.ts';
import { findSource } from './find-source.ts';
import { readKnownSessions } from './known-sessions.ts';
import type { SourceInput } from './session-args.ts';
import { SourceMemory } from './source-memory.ts';

/** Which of the known sessions to watch. */
export type WatchSelection =
  | { readonly by: 'all' }
  | { readonly by: 'sources'; readonly source_ids: readonly string[] }
  | { readonly by: 'agent'; readonly agent: Exclude<SourceInput, { source_id: string }> }
  | { readonly by: 'space'; readonly space: string };

export interface WatchedSessions {
  readonly sessions: readonly SessionRef[];
  /** Undefined if the command line names no space. */
  readonly space_id: string | undefined;
}

/** The sources of a space's agents, as the service shows them or, where it does not, as the state remembers them. */
async function findSources(context: Context, http: Http, spaceId: string): Promise<ReadonlySet<string>> {
  const sources = new Set<string>();
  const unknown: string[] = [];
  const memory = new SourceMemory(context, http.baseUrl);
  const own = new SpaceAgents(spaceId);
  for await (const item of listAgents(http, spaceId)) {
    const listed = readItem(OPERATIONS.listAgents, () => readAgent(item, http.contract));
    if (!own.includes(listed)) continue;
    const { agent_id, source_id } = listed;
    const agent = { by: 'id', value: agent_id } as const;
    const found = source_id === undefined ? await memory.read({ agent, space: undefined }) : source_id;
    if (found === undefined) unknown.push(agent_id);
    else if (found !== null) sources.add(found);
  }
  own.check();
  if (unknown.length > 0) {
    const fix = describeFix({ leaf: 'agent.source_id', value: '<path>' });
    await context.warn(
      `The service shows no API chat source for ${unknown.join(', ')}, so their conversations are left out. Name them with --source. If the list of agents shows them: ${fix}`,
    );
  }
  return sources;
}

/**
 * Finds the sessions to watch among those that this machine has sent messages to, or followed.
 * @throws LocalError if the state cannot be read; as `findSource` and `resolveSpaceId` do
 */
export async function findWatched(context: Context, http: Http, selection: WatchSelection): Promise<WatchedSessions> {
  const known = await readKnownSessions(await context.statePath(), http.baseUrl);
  const ofSources = (ids: ReadonlySet<string>) => known.filter(({ source_id }) => ids.has(source_id));
  switch (selection.by) {
    case 'all':
      return { sessions: known, space_id: undefined };
    case 'sources':
      return { sessions: ofSources(new Set(selection.source_ids)), space_id: undefined };
    case 'agent': {
      const { space } = selection.agent;
      const { source_id } = await findSource(context, http, selection.agent);
      const space_id = space === undefined ? undefined : await resolveSpaceId(http, parseReference(space));
      return { sessions: ofSources(new Set([source_id])), space_id };
    }
    case 'space': {
      const space_id = await resolveSpaceId(http, parseReference(selection.space));
      return { sessions: ofSources(await findSources(context, http, space_id)), space_id };
    }
  }
}
