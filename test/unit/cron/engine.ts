import { Contract } from '../../../src/contract/contract.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import { type AdoptDeps, adoptJob, forgetJob } from '../../../src/cron/adopt-forget.ts';
import { createOnce } from '../../../src/cron/create-once.ts';
import type { CreateOnceOptions, CreateOutcome, CronDeps } from '../../../src/cron/create-outcome.ts';
import { toWireSchedule } from '../../../src/cron/cron-result.ts';
import { type CronJob, contentHash, cronKey } from '../../../src/cron/job.ts';
import { withRefusals } from '../../../src/cron/job-ledger.ts';
import { createFreshJobLists, createJobFinder, type JobListOptions } from '../../../src/cron/job-list.ts';
import { JOB_RECORDS, type JobRecord, type JobSnapshot } from '../../../src/cron/job-records.ts';
import type { ReconcileResult } from '../../../src/cron/reconcile.ts';
import { type ReconcileAllDeps, reconcileAll, replayRecovery } from '../../../src/cron/reconcile-all.ts';
import {
  CredentialsError,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
  RefusedError,
  ServiceError,
  UsageError,
} from '../../../src/errors.ts';
import { fromLogRecord, openLedger } from '../../../src/state-old/ledger.ts';
import { type KeyHistory, keyHistory, type Owner } from '../../../src/state-old/once-records.ts';
import { type DecodedLine, decodeLine, encodeRecord, lineDigest } from '../../../src/state-old/record.ts';
import type { RecordStore, StoreEntry } from '../../../src/state-old/store.ts';

/*
 * The engine that creates jobs, as the model sees it. Of the model's files, only this one imports the product: another engine
 * needs another one of these, and neither another world nor other scenarios.
 */

export type { CreateOutcome, CronJob, JobRecord, Owner, ReconcileResult };

const ORIGIN = 'https://partner.test/v1';

const FLAGS = {
  quiet: false,
  verbose: false,
  debug: false,
  color: 'never',
  input: false,
  wide: false,
  pager: true,
} as const;

export function keyOf({ agent_id, name }: Pick<CronJob, 'agent_id' | 'name'>): string {
  return cronKey(ORIGIN, agent_id, name);
}

export function hasSameContent(one: CronJob, other: CronJob): boolean {
  return contentHash(one) === contentHash(other);
}

/** The failures that a run meets. */
export const failures = {
  unwritable: () => new LocalError('The file cannot be written.'),
  unavailable: () => new ServiceError('The service answered 503.', { status: 503 }),
  forbidden: () => new CredentialsError('Not allowed.', { status: 403 }),
  unreachable: () => new ServiceError('The service cannot be reached.'),
  refused: () => new RefusedError('The service refused it.', { status: 422 }),
  badGateway: () => new OutcomeUnknownError('The service answered 502.', { status: 502 }),
  noAnswer: () => new OutcomeUnknownError('No answer came.'),
  declined: () => new UsageError('Nothing was changed.'),
};

/** Whether an error is one that the program shows to its user, and no bug. */
export function isShown(error: unknown): boolean {
  return error instanceof PartnerctlError;
}

/** A job as the service lists it; what it does not show is undefined. */
export interface ListedJob {
  readonly cron_job_id: string;
  readonly agent_id: string | undefined;
  readonly name: string | undefined;
  readonly instructions: string | undefined;
  readonly schedule: CronJob['schedule'] | undefined;
}

/** Reads the records of state files. */
export class RecordReader {
  private readonly decoded = new Map<string, DecodedLine>();

  decode(line: string): DecodedLine {
    const decoded = this.decoded.get(line) ?? decodeLine(Buffer.from(line));
    this.decoded.set(line, decoded);
    return decoded;
  }

  records(lines: readonly string[]): JobRecord[] {
    return [...new Set(lines)].flatMap((line) => {
      const decoded = this.decode(line);
      return decoded.kind === 'record' ? (fromLogRecord(decoded.record, JOB_RECORDS) ?? []) : [];
    });
  }
}

/** The jobs that exist by the records of a key, and its reservations that are open. */
export function historyOf(records: readonly JobRecord[], key: string): KeyHistory<JobSnapshot> {
  return keyHistory(records.filter((record) => record.key === key));
}

/** The id that a record says. */
export function jobIdOf(record: JobRecord): string | undefined {
  return 'remoteId' in record ? record.remoteId : undefined;
}

/** What a run of the program needs of the world around it. */
export interface Surroundings {
  readonly owner: Owner;
  readonly clock: CronDeps['clock'];
  readonly reader: RecordReader;
  newId(): string;
  hasEnded(owner: Owner): Promise<boolean | undefined>;
  /** Writes at the end of the state file: all of the bytes, or a part, or none. May throw. @param what the bytes say */
  append(bytes: string, what: string): Promise<void>;
  /** The text of the state file. */
  read(): Promise<string>;
  /** Yields the jobs that the service lists. Steps, and may throw. */
  list(): AsyncGenerator<ListedJob>;
  /** Looks at one job in the list, as the user of `cron adopt` does. */
  lookUp(jobId: string): ListedJob | undefined;
  /** @returns the id of the new job */
  post(job: CronJob, timeoutMs: number): Promise<string>;
  remainingMs(): number;
  /** Keeps a record that cannot be appended. @returns false if that fails, too */
  keepRecord(record: JobRecord): Promise<boolean>;
}

/** The shared file, read from where this run stopped. An unterminated last line is read again. */
function fileStore({ append, read, reader }: Surroundings): RecordStore {
  const sums = new Set<string>();
  let seen = '';
  return {
    append: (record) => append(`\n${encodeRecord(record)}\n`, record.type),
    async *readNew(): AsyncGenerator<StoreEntry> {
      const text = await read();
      if (!text.startsWith(seen)) {
        yield { kind: 'restart' };
        sums.clear();
        seen = '';
      }
      const firstLine = seen.split('\n').length;
      const lines = text.slice(seen.length).split('\n');
      seen = text.slice(0, text.lastIndexOf('\n') + 1);
      for (const [index, line] of lines.entries()) {
        const number = firstLine + index;
        const decoded = line === '' ? undefined : reader.decode(line);
        if (decoded?.kind === 'damaged') {
          const bytes = Buffer.from(line);
          yield { kind: 'damaged', line: number, why: decoded.why, bytes, digest: lineDigest(bytes) };
        }
        if (decoded?.kind !== 'record' || sums.has(decoded.sum)) continue;
        sums.add(decoded.sum);
        yield { kind: 'record', line: number, record: decoded.record };
      }
    },
  };
}

/** The engine in one run of the program. */
export class Engine {
  readonly ledger: CronDeps['ledger'];
  private readonly around: Surroundings;

  constructor(around: Surroundings) {
    this.around = around;
    const ledger = openLedger(fileStore(around), JOB_RECORDS, { onUnusable: async () => undefined });
    this.ledger = withRefusals(ledger, 'state.jsonl', FLAGS);
  }

  create(job: CronJob, options: CreateOnceOptions): Promise<CreateOutcome> {
    return createOnce(job, this.createDeps(job), options);
  }

  reconcile(options: {
    readonly assumeNotCreated: boolean;
    readonly graceMs: number;
  }): Promise<readonly ReconcileResult[]> {
    return reconcileAll(this.reconcileDeps(), { key: undefined, ...options });
  }

  /** Appends the records that were kept. @param remove called for each one that is in the file */
  async appendKept(kept: readonly JobRecord[], remove: (record: JobRecord) => Promise<void>): Promise<void> {
    await replayRecovery(
      kept.map((record) => ({ record })),
      this.ledger,
      ({ record }) => remove(record),
    );
  }

  /** @param confirm asks the user; throws if the answer is no */
  async adopt(job: Pick<CronJob, 'agent_id' | 'name'>, jobId: string, confirm: () => Promise<void>): Promise<void> {
    await adoptJob(this.adoptDeps(confirm), jobId, job);
  }

  async forget(job: Pick<CronJob, 'agent_id' | 'name'>, confirm: () => Promise<void>): Promise<void> {
    await forgetJob(this.adoptDeps(confirm), { key: keyOf(job) });
  }

  createDeps(job: Pick<CronJob, 'name'> = { name: 'daily' }): CronDeps {
    const { around, ledger } = this;
    return {
      origin: ORIGIN,
      ledger,
      clock: around.clock,
      owner: around.owner,
      hasEnded: around.hasEnded,
      newId: around.newId,
      find: createFreshJobLists(this.listOptions([job])).find,
      post: around.post,
      inTurn: (send) => send(),
      remainingMs: around.remainingMs,
      abortSignal: new AbortController().signal,
      writeRecovery: async (record) => ((await around.keepRecord(record)) ? `recovery-${record.id}` : undefined),
    };
  }

  adoptDeps(confirm: () => Promise<void>): AdoptDeps {
    const { around, ledger } = this;
    const { clock } = around;
    return {
      origin: ORIGIN,
      ledger,
      clock,
      hasEnded: around.hasEnded,
      newId: around.newId,
      waitUntil: async (monotonic) => {
        while (clock.monotonic() < monotonic) await clock.sleep(monotonic - clock.monotonic());
      },
      fetchListed: async (id) => around.lookUp(id),
      confirm,
      flags: FLAGS,
    };
  }

  private reconcileDeps(): ReconcileAllDeps {
    const { around, ledger } = this;
    return {
      origin: ORIGIN,
      ledger,
      clock: around.clock,
      hasEnded: around.hasEnded,
      newId: around.newId,
      listJobs: (wanted) => createJobFinder(this.listOptions(wanted)),
      confirm: undefined,
      onWait: () => undefined,
      abortSignal: new AbortController().signal,
    };
  }

  /** What lookups in the list need. */
  private listOptions(wanted: readonly Pick<CronJob, 'name'>[]): JobListOptions {
    const { around } = this;
    return {
      list: async function* (): AsyncGenerator<JsonObject> {
        for await (const { schedule, ...said } of around.list())
          yield { ...said, schedule: schedule && toWireSchedule(schedule) };
      },
      contract: new Contract(),
      wanted,
      clock: around.clock,
      wasReadBefore: async () => false,
      failureHint: '',
      onUnavailable: async () => undefined,
    };
  }
}
