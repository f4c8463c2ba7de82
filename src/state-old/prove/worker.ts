import pLimit from 'p-limit';
import type { Clock } from '../../clock.ts';
import { PartnerctlError, StateUnavailableError } from '../../errors.ts';
import { type Ledger, openLedger } from '../ledger.ts';
import { runOnce } from '../once.ts';
import { describeThisProcess } from '../owner.ts';
import { randomRecordId } from '../record.ts';
import type { OtherMachine, RecordStore, StateStore } from '../store.ts';
import { PROOF_RECORDS, type ProofSnapshot, proofKey, proofText } from './records.ts';

/** The task of a process of a proof. */
export interface WorkerTask extends OtherMachine {
  /** Identifies the proof. */
  readonly run: string;
  readonly keys: readonly number[];
}

/** What a process reports, in order. */
export type WorkerEvent =
  /** Before a record is appended. */
  | { readonly kind: 'appending'; readonly id: string; readonly key: string; readonly record: string }
  /** The store has acknowledged the record. */
  | { readonly kind: 'acknowledged'; readonly id: string }
  /** The ids of the new records of a read, in order. */
  | { readonly kind: 'saw'; readonly ids: readonly string[] }
  /** The log was read again from the start, because earlier records changed. */
  | { readonly kind: 'restarted' }
  /** The process owns the key, and would now create the object. */
  | { readonly kind: 'claimed'; readonly key: string; readonly reservation: string }
  | { readonly kind: 'settled'; readonly number: number }
  | {
      readonly kind: 'failed';
      readonly key: string;
      readonly message: string;
      /** The hint of the error, if any. */
      readonly hint: string | null;
      readonly isUnavailable: boolean;
    };

export interface WorkerDeps {
  readonly store: StateStore;
  readonly clock: Clock;
  /** Events are written to stdout, one per line. */
  readonly io: { readonly stdout: { write(text: string): Promise<void> } };
}

type Report = (event: WorkerEvent) => Promise<void>;

/** Wraps a log to report which records are read. */
function watched(log: RecordStore, run: string, report: Report): RecordStore {
  return {
    append: (record, role) => log.append(record, role),
    async *readNew() {
      const ids: string[] = [];
      for await (const entry of log.readNew()) {
        if (entry.kind === 'restart') await report({ kind: 'restarted' });
        if (entry.kind === 'record' && String(entry.record.key).startsWith(`${run}-`)) ids.push(entry.record.id);
        yield entry;
      }
      if (ids.length > 0) await report({ kind: 'saw', ids });
    },
  };
}

function openWatchedLedger(store: StateStore, run: string, report: Report): Ledger<ProofSnapshot> {
  const log = watched(store.open({ containing: [proofText(run)] }), run, report);
  const ledger = openLedger(log, PROOF_RECORDS, { onUnusable: async () => undefined });
  return {
    ...ledger,
    async append(record) {
      const { id, key } = record;
      await report({ kind: 'appending', id, key, record: record.kind });
      await ledger.append(record);
      await report({ kind: 'acknowledged', id });
    },
  };
}

/** Races for one key: always reserves it, reads the log, and claims the key if the reservation is the first. */
async function raceFor(key: string, ledger: Ledger<ProofSnapshot>, clock: Clock, report: Report): Promise<void> {
  const owner = describeThisProcess();
  // Reservations of killed processes are never ended here, so it does not matter which processes run.
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
      await report({ kind: 'claimed', key, reservation: own });
      return own;
    },
  );
  if (result.kind === 'created' && result.unrecorded) throw result.unrecorded.error;
  if (result.kind === 'refused' && result.releaseError) throw result.releaseError;
}

/** Races with other processes for the keys of a task, as `cron create` does for jobs. */
export async function raceForKeys({ run, keys }: WorkerTask, { store, clock, io }: WorkerDeps): Promise<void> {
  const report: Report = (event) => io.stdout.write(`${JSON.stringify(event)}\n`);
  const ledger = openWatchedLedger(store, run, report);
  const inTurn = pLimit(Math.max(4, store.reservationsAtOnce));
  const race = async (number: number): Promise<void> => {
    const key = proofKey(run, number);
    try {
      await raceFor(key, ledger, clock, report);
      await report({ kind: 'settled', number });
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      const isUnavailable = error instanceof StateUnavailableError;
      const message = [error.message, error.info.why].filter((each) => each).join(' ');
      await report({ kind: 'failed', key, message, hint: error.info.hint ?? null, isUnavailable });
    }
  };
  await Promise.all(keys.map((number) => inTurn(() => race(number))));
}
