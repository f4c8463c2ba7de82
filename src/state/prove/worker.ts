import pLimit from 'p-limit';
import type { Clock } from '../../clock.ts';
import { PartnerctlError, StateUnavailableError } from '../../errors.ts';
import { type Ledger, openLedger } from '../ledger.ts';
import { runOnce } from '../once.ts';
import { describeThisProcess } from '../owner.ts';
import { randomRecordId } from '../record.ts';
import type { OtherMachine, RecordStore, StateStore } from '../store.ts';
import { PROOF_RECORDS, type ProofSnapshot, proofKey, proofText } from './records.ts';

/** Which keys a process of a proof races for. */
export interface WorkerTask extends OtherMachine {
  /** Tells proofs apart. */
  readonly run: string;
  readonly keys: readonly number[];
}

/** What a process tells of its work, in order. */
export type WorkerEvent =
  /** Before a record is appended. */
  | { readonly kind: 'appending'; readonly id: string; readonly key: string; readonly record: string }
  /** The store says that the record is durable. */
  | { readonly kind: 'acknowledged'; readonly id: string }
  /** The ids of the records of a read that earlier reads did not show, in order. */
  | { readonly kind: 'saw'; readonly ids: readonly string[] }
  /** The log was read from its beginning again: it no longer begins as it did. */
  | { readonly kind: 'restarted' }
  /** The process owns the key, and would create the object now. */
  | { readonly kind: 'claimed'; readonly key: string; readonly reservation: string }
  | { readonly kind: 'settled'; readonly number: number }
  | {
      readonly kind: 'failed';
      readonly key: string;
      readonly message: string;
      /** What to do, if the error says so. */
      readonly hint: string | null;
      readonly isUnavailable: boolean;
    };

export interface WorkerDeps {
  readonly store: StateStore;
  readonly clock: Clock;
  /** Its stdout takes an event per line. */
  readonly io: { readonly stdout: { write(text: string): Promise<void> } };
}

type Tell = (event: WorkerEvent) => Promise<void>;

/** A log that tells which records its reader sees. */
function watched(log: RecordStore, run: string, tell: Tell): RecordStore {
  return {
    append: (record, role) => log.append(record, role),
    async *readNew() {
      const ids: string[] = [];
      for await (const entry of log.readNew()) {
        if (entry.kind === 'restart') await tell({ kind: 'restarted' });
        if (entry.kind === 'record' && String(entry.record.key).startsWith(`${run}-`)) ids.push(entry.record.id);
        yield entry;
      }
      if (ids.length > 0) await tell({ kind: 'saw', ids });
    },
  };
}

function openWatchedLedger(store: StateStore, run: string, tell: Tell): Ledger<ProofSnapshot> {
  const log = watched(store.open({ containing: [proofText(run)] }), run, tell);
  const ledger = openLedger(log, PROOF_RECORDS, { onUnusable: async () => undefined });
  return {
    ...ledger,
    async append(record) {
      const { id, key } = record;
      await tell({ kind: 'appending', id, key, record: record.kind });
      await ledger.append(record);
      await tell({ kind: 'acknowledged', id });
    },
  };
}

/** Races for one key: reserves it whatever others did before, reads back, and claims it if the reservation is the first. */
async function raceFor(key: string, ledger: Ledger<ProofSnapshot>, clock: Clock, tell: Tell): Promise<void> {
  const owner = await describeThisProcess();
  // Nobody settles the reservations of killed processes, so it does not matter which have ended.
  const deps = { ledger, clock, owner, newId: randomRecordId, hasEnded: async () => false };
  let own = '';
  const result = await runOnce(
    {
      describe: async () => ({ key, snapshot: {}, deadline: null, remoteIdsSeen: null }),
      objection({ objects, open }, reservation) {
        if (reservation === undefined) return undefined;
        own = reservation;
        return objects.length === 0 && open[0]?.reservation.id === reservation ? undefined : 'owned';
      },
    },
    deps,
    async (commit) => {
      await commit();
      await tell({ kind: 'claimed', key, reservation: own });
      return own;
    },
  );
  if (result.kind === 'created' && result.unrecorded) throw result.unrecorded.error;
  if (result.kind === 'refused' && result.releaseError) throw result.releaseError;
}

/** Races with other processes for the keys of a task, as the guard does for the names of jobs. */
export async function raceForKeys({ run, keys }: WorkerTask, { store, clock, io }: WorkerDeps): Promise<void> {
  const tell: Tell = (event) => io.stdout.write(`${JSON.stringify(event)}\n`);
  const ledger = openWatchedLedger(store, run, tell);
  const inTurn = pLimit(Math.max(4, store.reservationsAtOnce));
  const race = async (number: number): Promise<void> => {
    const key = proofKey(run, number);
    try {
      await raceFor(key, ledger, clock, tell);
      await tell({ kind: 'settled', number });
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      const isUnavailable = error instanceof StateUnavailableError;
      const message = [error.message, error.info.why].filter((each) => each).join(' ');
      await tell({ kind: 'failed', key, message, hint: error.info.hint ?? null, isUnavailable });
    }
  };
  await Promise.all(keys.map((number) => inTurn(() => race(number))));
}
