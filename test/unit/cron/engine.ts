import type { ListedCronJob } from '../../../src/contract/resources.ts';
import { forgetJob, recordJob } from '../../../src/cron/adopt-forget.ts';
import type { CronContext } from '../../../src/cron/context.ts';
import { type CreateDeps, type CreatedJob, ensureJobs, namedIn } from '../../../src/cron/ensure-jobs.ts';
import { type Reconciled, reconcileJobs } from '../../../src/cron/find-lost.ts';
import { type CronJob, cronKey, findDifferences, JOB_KIND, type JobStanding } from '../../../src/cron/job.ts';
import { JobLists } from '../../../src/cron/service-jobs.ts';
import {
  CredentialsError,
  LocalError,
  OutcomeUnknownError,
  PartnerctlError,
  RefusedError,
  ServiceError,
  UsageError,
} from '../../../src/errors.ts';
import type { SendOptions } from '../../../src/state/create-once.ts';
import { Log } from '../../../src/state/log.ts';
import { decode, type LogRecord } from '../../../src/state/record.ts';
import { Standings } from '../../../src/state/standing.ts';

/*
 * The engine that creates jobs, as the model sees it. Of the model's files, only this one imports the product: another
 * engine needs another one of these, and neither another world nor other scenarios.
 */

export type { CreatedJob, CronJob, LogRecord, SendOptions };

const ORIGIN = 'https://partner.test/v1';

export function keyOf({ agent_id, name }: Pick<CronJob, 'agent_id' | 'name'>): string {
  return cronKey({ origin: ORIGIN, agent_id, name });
}

export function hasSameContent(one: CronJob, other: CronJob): boolean {
  return findDifferences(one, other).length === 0;
}

/** The failures that a run meets. */
export const failures = {
  unreadable: () => new LocalError('The file cannot be read.'),
  unwritable: () => new LocalError('The file cannot be written.'),
  unavailable: () => new ServiceError('The service answered 503.', { status: 503 }),
  forbidden: () => new CredentialsError('Not allowed.', { status: 403 }),
  unreachable: () => new ServiceError('The service cannot be reached.'),
  refused: () => new RefusedError('The service refused it.', { status: 422 }),
  badGateway: () => new OutcomeUnknownError('The service answered 502.', { status: 502 }),
  noAnswer: () => new OutcomeUnknownError('No answer came.'),
  late: () => new ServiceError('The request was not sent.'),
  declined: () => new UsageError('Nothing was changed.'),
};

/** Whether an error is one that the program shows to its user, and no bug. */
export function isShown(error: unknown): boolean {
  return error instanceof PartnerctlError;
}

/** The status of a job, or why it is blocked. */
export function statusOf({ status, error }: CreatedJob): string {
  const { reason } = Object(error instanceof PartnerctlError ? error.info.details : undefined);
  return status === 'blocked' ? reason : status;
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
export function recordsIn(lines: readonly string[]): readonly LogRecord[] {
  const records = new Map<string, LogRecord>();
  for (const line of lines) {
    const decoded = decode(line);
    if (decoded.kind === 'damaged') throw new Error(`a damaged line: ${line}`);
    if (decoded.kind === 'record' && !records.has(decoded.record.id)) records.set(decoded.record.id, decoded.record);
  }
  return [...records.values()];
}

/** The jobs that exist by the records of a key, and its reservations that are open. */
export function standingIn(records: readonly LogRecord[], key: string): JobStanding {
  return new Standings(JOB_KIND).add(records).of(key);
}

/** The id that a record says. */
export function jobIdOf({ object }: LogRecord): unknown {
  return object;
}

/** What a run of the program needs of the world around it. */
export interface Surroundings {
  readonly pid: number;
  readonly clock: CreateDeps['clock'];
  /** Writes at the end of the state file: all of the bytes, or a part, or none. May throw. */
  append(bytes: string): Promise<void>;
  /** The text of the state file. */
  read(): Promise<string>;
  /** Yields the jobs that the service lists. Steps, and may throw. */
  list(): AsyncGenerator<ListedJob>;
  /** Looks at one job in the list, as the user of `cron adopt` does. */
  lookUp(jobId: string): ListedJob | undefined;
  /** @returns the id of the new job */
  post(job: CronJob, options: SendOptions): Promise<string>;
}

/** The engine in one run of the program. */
export class Engine {
  private readonly around: Surroundings;
  private readonly log: Log;

  constructor(around: Surroundings) {
    this.around = around;
    const { pid, clock } = around;
    this.log = new Log({
      driver: {
        label: 'state.jsonl',
        batch: 8,
        load: async () => ({ from: 0, lines: (await around.read()).split('\n') }),
        write: (lines) => around.append(`\n${lines.join('\n')}\n`),
        prepare: async () => undefined,
        check: async () => undefined,
        close: async () => undefined,
      },
      author: { user: 'ada', host: 'laptop', pid },
      clock,
      redact: (text) => text,
    });
  }

  async create(job: CronJob, options: { readonly ensure: boolean; readonly dryRun: boolean }): Promise<CreatedJob> {
    const { post } = this.around;
    const quiet = { onUnavailable: async () => undefined, onWait: () => undefined };
    const created: CreatedJob[] = [];
    const wanted = [{ index: 0, source: undefined, job }];
    // The jobs of the model have one text.
    const run = { ...options, createBeside: true, isNamed: namedIn(wanted) };
    await ensureJobs({ ...this.base(), lists: this.lists(), post, ...quiet }, wanted, run, (each) =>
      created.push(each),
    );
    const [only, ...more] = created;
    if (!only || more.length > 0) throw new Error('A job has one outcome.');
    return only;
  }

  reconcile(assumeNotCreated: boolean): Promise<readonly Reconciled[]> {
    const isNotCreated = async () => assumeNotCreated;
    return reconcileJobs({ ...this.base(), lists: this.lists(), isNotCreated, onWait: () => undefined });
  }

  /** @param confirm asks the user; throws if the answer is no */
  async adopt(job: Pick<CronJob, 'agent_id' | 'name'>, jobId: string, confirm: () => Promise<void>): Promise<void> {
    const listed = this.around.lookUp(jobId);
    const shown = listed && { ...listed, agent_text: undefined };
    await recordJob(this.asking(confirm), jobId, { origin: ORIGIN, ...job }, { yes: false, listed: shown });
  }

  async forget(job: Pick<CronJob, 'agent_id' | 'name'>, confirm: () => Promise<void>): Promise<void> {
    await forgetJob(this.asking(confirm), keyOf(job), undefined, false);
  }

  private base() {
    const { around, log } = this;
    const command = (words: readonly string[]) => words.join(' ');
    return { origin: ORIGIN, log, clock: around.clock, signal: new AbortController().signal, command };
  }

  private asking(ask: () => Promise<void>): CronContext {
    const { clock, signal: abortSignal, command } = this.base();
    const none = () => undefined;
    const progress = { start: none, countdown: none, stop: none };
    const confirm = () => ask().then(() => true);
    const http = () => Promise.reject(new Error('The service is not called.'));
    const service = { http, baseUrl: async () => ORIGIN };
    const rest = { env: {}, io: { stdin: process.stdin }, warn: async () => undefined, log: async () => this.log };
    return { clock, abortSignal, command, progress, isInteractive: true, confirm, ...rest, ...service };
  }

  private lists(): JobLists {
    return new JobLists({ list: () => this.listed(), clock: this.around.clock, hint: () => '' });
  }

  private async *listed(): AsyncGenerator<ListedCronJob> {
    for await (const job of this.around.list()) yield { ...job, agent_text: undefined };
  }
}
