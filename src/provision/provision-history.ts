import type { Context } from '../cli/context.ts';
import { LocalError } from '../errors.ts';
import { joinSentences } from '../output/sentences.ts';
import { type Ledger, openLedger, otherLines } from '../state-old/ledger.ts';
import { keyHistories } from '../state-old/once-records.ts';
import { fieldText, isText, type LogRecord, randomRecordId, recordHead } from '../state-old/record.ts';
import { observeReads, type StateStore } from '../state-old/store.ts';
import { type BlockingLine, lineWarner } from '../state-old/unusable-lines.ts';
import type { AgentResult } from './document-result.ts';
import type { Manifest, ManifestDocument } from './manifest.ts';
import type { PresentAgent, PresentSpace } from './provision-plan.ts';
import { createSimilarFinder, type FindSimilar } from './similar-spaces.ts';
import {
  agentKey,
  agentKeys,
  decodeSnapshot,
  hasContent,
  type RecordedAgent,
  SPACE_RECORDS,
  SPACE_TYPE,
  type SpaceReservation,
  type SpaceSnapshot,
  spaceContentHash,
  spaceKey,
  TYPES_WITH_SPACE,
} from './space-records.ts';

/** To compare each line with the keys of a few spaces is faster than to decode it. For many, it is not. */
const MAX_COMPARED_KEYS = 8;

/** What the state file records about the spaces of a run. */
export interface ProvisionHistory {
  /** The reservations of the spaces. Reading it also brings `recall` up to date. */
  readonly ledger: Ledger<SpaceSnapshot>;
  /** Names the state in messages. */
  readonly label: string;
  /** The lines that cannot be used and may be about the space, as far as the file was read. */
  blockingLines(manifest: Manifest): readonly BlockingLine[];
  /** The space as earlier runs left it, with those of the manifest's agents that they installed. */
  recall(manifest: Manifest): PresentSpace | undefined;
  /** The id of the space as `recall` returns it. */
  recordedId(manifest: Manifest): string | undefined;
  readonly findSimilar: FindSimilar;
  /** The ids of all recorded spaces of the service, whatever documents this run has, by external id. @throws LocalError */
  allIds(): Promise<ReadonlyMap<string, string>>;
  /** The id of the last record of each space, by key. @throws LocalError */
  lastRecords(): Promise<ReadonlyMap<string, string | undefined>>;
  /** Whether the records of any space prove that the service's list of spaces was read before. @throws LocalError */
  provesListRead(): Promise<boolean>;
  /**
   * Records an existing space, unless it is recorded already. A state file that cannot be written is a warning.
   * @param settled a reservation of which all agents exist: the space is recorded as of its content
   */
  record(found: FoundSpace, settled?: SpaceReservation): Promise<void>;
}

/** A space of a manifest that exists at the service. */
export interface FoundSpace {
  readonly manifest: Manifest;
  readonly spaceId: string;
  readonly agents: readonly Pick<AgentResult, 'agent_id' | 'name' | 'template_id' | 'source_id'>[];
}

/** A space as the records describe it, with the agents that have an id. */
interface RecordedSpace {
  readonly space_id: string;
  /** Of the manifest that the space was last provisioned from. */
  readonly content_hash: string;
  readonly agents: readonly RecordedAgent[];
}

/** Merges the agents that an earlier and a later record have. Later values win; no agent is dropped. */
function mergeAgents(earlier: readonly RecordedAgent[], later: readonly RecordedAgent[]): readonly RecordedAgent[] {
  const agents = new Map(earlier.map((agent) => [agent.agent_id, agent]));
  for (const agent of later) {
    if (agent.agent_id === undefined) continue;
    const source_id = agent.source_id ?? agents.get(agent.agent_id)?.source_id;
    agents.set(agent.agent_id, { ...agent, ...(source_id !== undefined && { source_id }) });
  }
  return [...agents.values()];
}

/** The spaces of one service, as the records so far leave them. */
export interface RecordedSpaces {
  get(externalId: string): RecordedSpace | undefined;
  /** The id of each space, by external id. */
  ids(): ReadonlyMap<string, string>;
  /** @returns false if this is an incomplete record of a space */
  add(record: LogRecord): boolean;
  clear(): void;
}

/** Collects the spaces of one service from the log. */
export function recordedSpaces(origin: string): RecordedSpaces {
  const spaces = new Map<string, RecordedSpace>();
  // A replaced space took its agents with it, so merge agents by space_id. The last record has the current space.
  const agentsBySpace = new Map<string, readonly RecordedAgent[]>();
  return {
    get: (externalId) => spaces.get(externalId),
    ids: () => new Map([...spaces].map(([externalId, { space_id }]) => [externalId, space_id])),
    add(record) {
      if (!TYPES_WITH_SPACE.has(record.type)) return true;
      const snapshot = decodeSnapshot(record);
      const { space_id } = record;
      if (!snapshot || !isText(space_id)) return false;
      if (snapshot.origin !== origin) return true;
      const agents = mergeAgents(agentsBySpace.get(space_id) ?? [], snapshot.agents);
      agentsBySpace.set(space_id, agents);
      spaces.set(snapshot.external_space_id, { space_id, content_hash: snapshot.content_hash, agents });
      return true;
    },
    clear() {
      spaces.clear();
      agentsBySpace.clear();
    },
  };
}

function toPresentSpace(known: RecordedSpace, manifest: Manifest): PresentSpace {
  const agentsByKey = new Map(known.agents.map((agent) => [agent.key, agent]));
  // A space is recorded when its whole document is applied, even if the service did not name the agents.
  const isComplete = hasContent(known.content_hash, manifest);
  const agents = manifest.agents.flatMap(({ name, template_id }) => {
    const agent = agentKeys(name, template_id)
      .map((key) => agentsByKey.get(key))
      .find((recorded) => recorded);
    if (!isComplete && !agent) return [];
    return [{ agent_id: agent?.agent_id, name, template_id, source_id: agent?.source_id }];
  });
  return { space_id: known.space_id, agents };
}

/**
 * Completes the remote state from the state file: with the names and templates that an earlier run installed the agents
 * with, because a service may list other names or none, and with chat sources that the service does not show.
 */
export function withHistory(present: PresentSpace, recalled: PresentSpace | undefined): PresentSpace {
  if (recalled?.space_id !== present.space_id) return present;
  const known = new Map(recalled.agents.map((agent) => [agent.agent_id, agent]));
  const agents = present.agents.map((agent) => {
    const recorded = agent.agent_id === undefined ? undefined : known.get(agent.agent_id);
    if (!recorded) return agent;
    const { name, template_id } = recorded;
    const source_id = agent.source_id === undefined ? recorded.source_id : agent.source_id;
    const isSame = agent.name === name && agent.template_id === template_id;
    const listed = { name: agent.name, template_id: agent.template_id };
    return { ...agent, name, template_id, source_id, ...(!isSame && { listed }) };
  });
  const isKnown = ({ agent_id }: PresentAgent) => agent_id !== undefined && known.has(agent_id);
  // Known agents first, so that another one of the same name and template is not taken for one of them.
  return { ...present, agents: [...agents.filter(isKnown), ...agents.filter((agent) => !isKnown(agent))] };
}

/** Whether the state file already records this space, so that repeated runs do not make it grow. */
function isRecorded(known: RecordedSpace | undefined, { manifest, spaceId, agents }: FoundSpace): boolean {
  if (known?.space_id !== spaceId) return false;
  const sources = new Map(known.agents.map(({ agent_id, source_id }) => [agent_id, source_id]));
  const areKnown = agents.every(
    ({ agent_id, source_id }) =>
      agent_id === null || (sources.has(agent_id) && (source_id === null || sources.get(agent_id) === source_id)),
  );
  const areAllNamed = agents.every(({ agent_id }) => agent_id !== null);
  return areKnown && (areAllNamed || hasContent(known.content_hash, manifest));
}

/** What the state file keeps of a space that exists. */
export function foundSnapshot(origin: string, { manifest, agents }: FoundSpace): SpaceSnapshot {
  return {
    origin,
    external_space_id: manifest.external_space_id,
    content_hash: spaceContentHash(manifest),
    agents: agents.flatMap(({ agent_id, name, template_id, source_id }) =>
      agent_id === null
        ? []
        : [{ agent_id, key: agentKey(name, template_id), ...(source_id !== null && { source_id }) }],
    ),
  };
}

/** The ids of all recorded spaces of a service, by external id. */
async function readAllIds(state: StateStore, origin: string): Promise<ReadonlyMap<string, string>> {
  const all = recordedSpaces(origin);
  for await (const entry of state.open({ isSkipped: otherLines(SPACE_RECORDS) }).readNew()) {
    if (entry.kind === 'restart') all.clear();
    if (entry.kind === 'record') all.add(entry.record);
  }
  return all.ids();
}

/**
 * Opens the state file's records of the spaces of a run, and reads them.
 * @param origin the base URL of the service that the records belong to
 * @param reportedLines receives the numbers of the lines that this warns about
 * @throws LocalError if the file exists but cannot be read
 */
export async function openHistory(
  context: Context,
  origin: string,
  documents: readonly ManifestDocument[],
  reportedLines: Set<number>,
): Promise<ProvisionHistory> {
  const state = await context.stateStore();
  const spaces = recordedSpaces(origin);
  const onUnusable = lineWarner(state.label, (text) => context.warn(text), reportedLines);
  const externalIds = documents.map(({ manifest }) => manifest.external_space_id);
  const keys = new Set(externalIds.map((externalId) => spaceKey(origin, externalId)));
  const isSkipped = otherLines(SPACE_RECORDS, keys.size > MAX_COMPARED_KEYS ? undefined : [...keys]);
  const store = observeReads(state.open({ isSkipped }), async (entry) => {
    if (entry.kind === 'restart') spaces.clear();
    if (entry.kind !== 'record' || spaces.add(entry.record)) return;
    await onUnusable({ line: entry.line, why: `not a complete record of ${SPACE_RECORDS.noun}` });
  });
  const ledger = openLedger(store, SPACE_RECORDS, { isWanted: ({ key }) => keys.has(key), onUnusable });
  await ledger.readAll();
  let isWritable = true;

  function recall(manifest: Manifest): PresentSpace | undefined {
    const known = spaces.get(manifest.external_space_id);
    return known && toPresentSpace(known, manifest);
  }
  const recordedId = ({ external_space_id }: Manifest) => spaces.get(external_space_id)?.space_id;
  const allIds = () => readAllIds(state, origin);

  return {
    ledger,
    label: state.label,
    recall,
    recordedId,
    findSimilar: createSimilarFinder(documents, { recordedId, allIds }),
    allIds,
    blockingLines({ external_space_id }) {
      const texts = [fieldText('external_space_id', external_space_id)];
      return ledger.blockingLines({ keys: [spaceKey(origin, external_space_id)], texts });
    },
    async lastRecords() {
      const histories = keyHistories(await ledger.readAll());
      return new Map([...histories].map(([key, { objects }]) => [key, objects.at(-1)?.id]));
    },
    async provesListRead() {
      const all = openLedger(state.open({ isSkipped: otherLines(SPACE_RECORDS) }), SPACE_RECORDS, { onUnusable });
      return (await all.readAll()).some(
        (record) => record.kind === 'reserved' && record.snapshot.origin === origin && record.remoteIdsSeen !== null,
      );
    },
    async record(found, settled) {
      const externalId = found.manifest.external_space_id;
      const isKnown = () => !settled && isRecorded(spaces.get(externalId), found);
      if (!isWritable || isKnown()) return;
      const key = spaceKey(origin, externalId);
      try {
        await ledger.read(key);
        if (isKnown()) return;
        const head = recordHead(SPACE_TYPE, { now: context.clock.now, newId: randomRecordId });
        const current = foundSnapshot(origin, found);
        const { spaceId: remoteId } = found;
        if (settled) {
          const { id: reservation } = settled;
          const snapshot = { ...current, content_hash: settled.snapshot.content_hash };
          await ledger.append({ kind: 'adopted', id: head.id, at: head.at, key, snapshot, reservation, remoteId });
        } else {
          const record = { ...head, key, ...current, space_id: remoteId };
          await store.append(record, { kind: 'other' });
        }
      } catch (error) {
        if (!(error instanceof LocalError)) throw error;
        isWritable = false;
        await context.warn(joinSentences(`${error.message}\nThe next run will not know what this run found.`));
      }
    },
  };
}
