import { keyHistory, type OnceRecord } from '../once-records.ts';
import type { ProofSnapshot } from './records.ts';
import type { WorkerEvent } from './worker.ts';

/** One process of a proof, from its start to its end. */
export interface Life {
  readonly process: number;
  /** 1 for its first start. */
  readonly start: number;
  /** In order. A killed process may have done more. */
  readonly events: readonly WorkerEvent[];
}

type Rule = 'two_owners' | 'lost' | 'order' | 'failed' | 'no_owner';

/** What one process did with a key, and what it saw. */
interface Testimony {
  readonly process: number;
  readonly start: number;
  /** The records that it appended, and whether the store acknowledged them. */
  readonly appended: readonly { readonly id: string; readonly record: string; readonly acknowledged: boolean }[];
  /** The ids of the records of the key, in the order of reading. */
  readonly saw: readonly string[];
  readonly claimed: boolean;
}

/** A violation: two processes own a key, or a record or the order was lost. */
export interface Counterexample {
  readonly rule: Rule;
  /** What happened, as a sentence. */
  readonly message: string;
  readonly key: string;
  /** The id of the record, if it is about one. */
  readonly record: string | null;
  readonly processes: readonly Testimony[];
  /** The records of the key at the end, as a new reader sees them. */
  readonly stored: readonly { readonly id: string; readonly record: string }[];
}

type Violation = Pick<Counterexample, 'rule' | 'message' | 'key' | 'record'>;

function eventsOf<Kind extends WorkerEvent['kind']>(
  { events }: Life,
  kind: Kind,
): Extract<WorkerEvent, { kind: Kind }>[] {
  return events.filter((event): event is Extract<WorkerEvent, { kind: Kind }> => event.kind === kind);
}

function findTwoOwners(lives: readonly Life[]): Violation | undefined {
  const owners = new Map<string, Life>();
  for (const life of lives) {
    for (const { key, reservation } of eventsOf(life, 'claimed')) {
      const first = owners.get(key);
      owners.set(key, life);
      if (!first) continue;
      const message = `Process ${first.process} and process ${life.process} both were the first to reserve ${key}.`;
      return { rule: 'two_owners', message, key, record: reservation };
    }
  }
  return undefined;
}

/** Later readers must see the same owner of a key. */
function findOtherOwner(lives: readonly Life[], log: readonly OnceRecord<ProofSnapshot>[]): Violation | undefined {
  for (const life of lives) {
    for (const { key, reservation } of eventsOf(life, 'claimed')) {
      const { objects, open } = keyHistory(log.filter((record) => record.key === key));
      const owner = objects[0]?.reservation ?? open[0]?.reservation.id;
      if (owner === undefined || owner === reservation) continue;
      const message = `Process ${life.process} owned ${key}, but in the end another reservation is the first.`;
      return { rule: 'two_owners', message, key, record: reservation };
    }
  }
  return undefined;
}

function findLost(lives: readonly Life[], log: readonly OnceRecord<ProofSnapshot>[]): Violation | undefined {
  const stored = new Set(log.map(({ id }) => id));
  for (const life of lives) {
    const appended = new Map(eventsOf(life, 'appending').map((event) => [event.id, event]));
    for (const { id } of eventsOf(life, 'acknowledged')) {
      if (stored.has(id)) continue;
      const { key = '', record = 'record' } = appended.get(id) ?? {};
      const message = `The store told process ${life.process} that it holds the record ${id} (${record}) of ${key}, but it does not.`;
      return { rule: 'lost', message, key, record: id };
    }
  }
  return undefined;
}

/** What each reader saw must be the beginning of the final log. */
function findDisorder(lives: readonly Life[], log: readonly OnceRecord<ProofSnapshot>[]): Violation | undefined {
  for (const life of lives) {
    const restarted = life.events.some(({ kind }) => kind === 'restarted');
    const seen = eventsOf(life, 'saw').flatMap(({ ids }) => ids);
    const place = seen.findIndex((id, index) => log[index]?.id !== id);
    if (!restarted && place === -1) continue;
    const { key, id } = log[Math.max(place, 0)] ?? { key: '', id: null };
    const message = restarted
      ? `Process ${life.process} saw records of the store change that were there before.`
      : `Process ${life.process} saw record ${seen[place]} where the store now has ${id ?? 'none'}: not one order for all.`;
    return { rule: 'order', message, key, record: seen[place] ?? id };
  }
  return undefined;
}

function findFailure(lives: readonly Life[]): Violation | undefined {
  for (const life of lives) {
    const [failed] = eventsOf(life, 'failed');
    if (!failed) continue;
    return { rule: 'failed', message: `Process ${life.process}: ${failed.message}`, key: failed.key, record: null };
  }
  return undefined;
}

function findNoOwner(keys: readonly string[], log: readonly OnceRecord<ProofSnapshot>[]): Violation | undefined {
  for (const key of keys) {
    const { objects, open } = keyHistory(log.filter((record) => record.key === key));
    if (objects.length + open.length > 0) continue;
    return {
      rule: 'no_owner',
      message: `Every process was refused ${key}, as if another one owned it.`,
      key,
      record: null,
    };
  }
  return undefined;
}

function testimony(life: Life, key: string, ids: ReadonlySet<string>): Testimony {
  const acknowledged = new Set(eventsOf(life, 'acknowledged').map(({ id }) => id));
  return {
    process: life.process,
    start: life.start,
    appended: eventsOf(life, 'appending')
      .filter((event) => event.key === key)
      .map(({ id, record }) => ({ id, record, acknowledged: acknowledged.has(id) })),
    saw: eventsOf(life, 'saw').flatMap((event) => event.ids.filter((id) => ids.has(id))),
    claimed: eventsOf(life, 'claimed').some((event) => event.key === key),
  };
}

export interface ProofEvidence {
  readonly lives: readonly Life[];
  /** All records of the proof, as a new reader sees them. */
  readonly log: readonly OnceRecord<ProofSnapshot>[];
  readonly keys: readonly string[];
  /** Whether every process finished, so that each key must have an owner. */
  readonly isComplete: boolean;
}

/**
 * Finds the first violation: two owners of a key, an acknowledged record that is missing, readers that saw different
 * orders, a process that failed, or a key without an owner.
 */
export function findCounterexample({ lives, log, keys, isComplete }: ProofEvidence): Counterexample | undefined {
  const finding =
    findTwoOwners(lives) ??
    findLost(lives, log) ??
    findDisorder(lives, log) ??
    findOtherOwner(lives, log) ??
    findFailure(lives) ??
    (isComplete ? findNoOwner(keys, log) : undefined);
  if (!finding) return undefined;
  const { key } = finding;
  const stored = log.filter((record) => record.key === key).map(({ id, kind }) => ({ id, record: kind }));
  const appended = lives.flatMap((life) => eventsOf(life, 'appending')).filter((event) => event.key === key);
  const ids = new Set([...stored, ...appended].map(({ id }) => id));
  const processes = lives
    .map((life) => testimony(life, key, ids))
    .filter(({ appended: own, saw, claimed }) => own.length > 0 || saw.length > 0 || claimed);
  return { ...finding, processes, stored };
}
