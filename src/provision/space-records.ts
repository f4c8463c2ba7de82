import { hash } from 'node:crypto';
import { comparableAgent } from '../contract/agent-ids.ts';
import { isJsonObject } from '../contract/json.ts';
import { otherLines, type RecordFormat } from '../state-old/ledger.ts';
import type { Reservation } from '../state-old/once-records.ts';
import { isText, type LogRecord } from '../state-old/record.ts';
import { recordStart } from '../state-old/relevant-lines.ts';
import type { ObservedRecords } from '../state-old/store.ts';
import type { Manifest } from './manifest.ts';

/** An agent as the state file records it. */
export interface RecordedAgent {
  /** See `agentKey`. */
  readonly key: string;
  /** Undefined if it is yet to be installed, or if the service did not return its id. */
  readonly agent_id?: string | undefined;
  /** The agent's API chat source, if it is known. */
  readonly source_id?: string | undefined;
}

/** What the state file keeps of a space that is, or was, provisioned: ids and hashes, no texts. */
export interface SpaceSnapshot {
  /** The base URL of the service. */
  readonly origin: string;
  readonly external_space_id: string;
  /** The hash of the manifest; see `spaceContentHash`. */
  readonly content_hash: string;
  /** In a reservation, the agents that its POST installs; otherwise all agents of the manifest. */
  readonly agents: readonly RecordedAgent[];
}

export type SpaceReservation = Reservation<SpaceSnapshot>;

/** The type of a record of a space that was found complete, and of all such records of earlier versions. */
export const SPACE_TYPE = 'space';

const TYPES = {
  reserved: 'space.reserved',
  created: 'space.created',
  adopted: 'space.adopted',
  released: 'space.released',
  unknown: 'space.unknown',
  forgotten: 'space.forgotten',
} as const;

function isAgent(value: unknown): value is RecordedAgent {
  if (!isJsonObject(value) || !isText(value.key)) return false;
  return [value.agent_id, value.source_id].every((id) => id === undefined || isText(id));
}

/** Reads the fields that every record with a space has; undefined if one is missing. */
export function decodeSnapshot({
  origin,
  external_space_id,
  content_hash,
  agents,
}: LogRecord): SpaceSnapshot | undefined {
  if (!isText(origin) || !isText(external_space_id) || !isText(content_hash)) return undefined;
  if (!Array.isArray(agents) || !agents.every(isAgent)) return undefined;
  return { origin, external_space_id, content_hash, agents };
}

/** How reservations of spaces and their outcomes are written in the state file. */
export const SPACE_RECORDS: RecordFormat<SpaceSnapshot> = {
  types: TYPES,
  reservationField: 'reservation',
  remoteIdField: 'space_id',
  noun: 'a space',
  family: SPACE_TYPE,
  decodeSnapshot,
};

/** The types of the records with a space that exists. */
export const TYPES_WITH_SPACE: ReadonlySet<string> = new Set([SPACE_TYPE, TYPES.created, TYPES.adopted]);

/** The beginnings of the other records. */
const STARTS_WITHOUT_SPACE = Object.values(TYPES)
  .filter((type) => !TYPES_WITH_SPACE.has(type))
  .map((type) => Buffer.from(recordStart(type)));

/** The spaces of the agents of one service or, without an origin, of all, by agent_id. For `openJobLedger` to fill. */
export function createAgentSpaces(origin: string | undefined): ObservedRecords & {
  /** The external id of the space of each agent, by `comparableAgent`. */
  readonly spaces: ReadonlyMap<string, string>;
} {
  const spaces = new Map<string, string>();
  const isOther = otherLines(SPACE_RECORDS);
  return {
    spaces,
    isSkipped: (bytes, start, end) =>
      isOther(bytes, start, end) ||
      STARTS_WITHOUT_SPACE.some((each) => each.compare(bytes, start, start + each.length) === 0),
    observe(entry) {
      const snapshot =
        entry.kind === 'record' && TYPES_WITH_SPACE.has(entry.record.type) && decodeSnapshot(entry.record);
      if (!snapshot || (origin !== undefined && snapshot.origin !== origin)) return;
      for (const { agent_id } of snapshot.agents) {
        if (agent_id !== undefined) spaces.set(comparableAgent(agent_id), snapshot.external_space_id);
      }
    },
  };
}

const KEY_LENGTH = 24;

/**
 * The key of a space, 24 hexadecimal digits. One process at a time provisions a key. The external id is an id, not a name:
 * it counts byte for byte, as the service compares it.
 */
export function spaceKey(origin: string, externalId: string): string {
  return hash('sha256', JSON.stringify([origin, externalId]), 'hex').slice(0, KEY_LENGTH);
}

/** The forms in which an earlier run may have recorded a name: NFC first, which this version records. */
function formsOf(name: string): readonly string[] {
  return [...new Set([name.normalize('NFC'), name, name.normalize('NFD')])];
}

/** The keys under which an agent may be recorded. The first is the one to record. */
export function agentKeys(name: string, templateId: string): readonly string[] {
  return formsOf(name).map((form) => hash('sha256', JSON.stringify([form, templateId]), 'hex'));
}

/** Identifies an agent of a manifest without naming it: a hash of its name, in Unicode NFC, and template. */
export function agentKey(name: string, templateId: string): string {
  return agentKeys(name, templateId)[0] ?? '';
}

function hashManifest(manifest: Manifest, form: (name: string) => string): string {
  const agents = manifest.agents.map(({ chat: _, cron: __, ...agent }) => ({ ...agent, name: form(agent.name) }));
  return hash('sha256', JSON.stringify({ ...manifest, agents }), 'hex');
}

/** Hashes what provisioning installs. Chats and jobs are excluded: adding one later does not change the agent. */
export function spaceContentHash(manifest: Manifest): string {
  return hashManifest(manifest, (name) => name.normalize('NFC'));
}

/** Whether a record is of this manifest, in whatever Unicode form its agents were named then. */
export function hasContent(recordedHash: string, manifest: Manifest): boolean {
  const forms = [
    (name: string) => name.normalize('NFC'),
    (name: string) => name,
    (name: string) => name.normalize('NFD'),
  ];
  return forms.some((form) => hashManifest(manifest, form) === recordedHash);
}
