import type fc from 'fast-check';
import { Contract } from '../../../src/contract/contract.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import type { AdoptDeps } from '../../../src/cron/adopt-forget.ts';
import type { CronDeps } from '../../../src/cron/create-outcome.ts';
import { toWireSchedule } from '../../../src/cron/cron-result.ts';
import { type CronJob, cronKey } from '../../../src/cron/job.ts';
import { withRefusals } from '../../../src/cron/job-ledger.ts';
import { createFreshJobLists, createJobFinder, type JobListOptions } from '../../../src/cron/job-list.ts';
import { JOB_RECORDS, type JobRecord, type JobSnapshot } from '../../../src/cron/job-records.ts';
import type { ListedJob } from '../../../src/cron/listed-job.ts';
import type { ReconcileAllDeps } from '../../../src/cron/reconcile-all.ts';
import {
  CredentialsError,
  LocalError,
  OutcomeUnknownError,
  RefusedError,
  ServiceError,
  UsageError,
} from '../../../src/errors.ts';
import { fromLogRecord, openLedger } from '../../../src/state/ledger.ts';
import { type KeyHistory, keyHistory, type Owner } from '../../../src/state/once-records.ts';
import { type DecodedLine, decodeLine, encodeRecord, lineDigest, type NewRecord } from '../../../src/state/record.ts';
import type { RecordStore, StoreEntry } from '../../../src/state/store.ts';

const FLAGS = {
  quiet: false,
  verbose: false,
  debug: false,
  color: 'never',
  input: false,
  wide: false,
  pager: true,
} as const;
const ORIGIN = 'https://partner.test/v1';
/** The longest time a request is in transit, and a new job is missing from the list; together less than the grace period. */
const TRANSIT_MS = 4_000;
const UNLISTED_MS = 4_000;
export const GRACE_MS = 10_000;

/** How an append ends: `out` and `in` fail without and with the record in the file; a number is the share that is written. */
export type AppendFate = 'ok' | 'out' | 'in' | number;

/**
 * How a POST ends. `lost`: the job is created, the response lost. `vanished`: the request never arrives. `broken`: the job is
 * created, the response is a 502.
 */
export type PostFate = 'answered' | 'lost' | 'vanished' | 'broken' | 'refused' | 'unsent';

/** What happens to a process. */
export interface Fate {
  /** The step at which it is killed. */
  readonly diesAt?: number | undefined;
  /** How its appends end, in order; later ones succeed. */
  readonly appends?: readonly AppendFate[] | undefined;
  readonly post?: PostFate | undefined;
  readonly list?: 'read' | 'closed' | 'failing' | undefined;
  /** Whether a record that could not be appended can be written to a recovery file. */
  readonly isRecovered?: boolean | undefined;
  readonly machine?: number | undefined;
  readonly remainingMs?: number | undefined;
  /** How far its machine's clock is ahead. */
  readonly clockMs?: number | undefined;
}

/** The fields in the service's list besides the id. */
export interface ListSays {
  readonly agents: boolean;
  readonly names: boolean;
  readonly contents: boolean;
}

interface MadeJob extends CronJob {
  readonly cron_job_id: string;
  readonly madeAt: number;
  removed: boolean;
}

/** A file that several processes append to. */
class SharedFile {
  text: string;

  constructor(text = '') {
    this.text = text;
  }

  lines(): string[] {
    return this.text.split('\n').filter((line) => line !== '');
  }
}

export function keyOf({ agent_id, name }: Pick<CronJob, 'agent_id' | 'name'>): string {
  return cronKey(ORIGIN, agent_id, name);
}

/**
 * A service that creates a job for each POST, processes that share files and a clock, and everything that can go wrong between
 * them. The scheduler decides which process runs next.
 */
export class World {
  now = Date.parse('2026-03-02T09:00:00Z');
  file = new SharedFile();
  /** The recovery records. */
  readonly recovery: JobRecord[] = [];
  readonly jobs: MadeJob[] = [];
  readonly violations: string[] = [];
  /** The ids that processes received from the service while they were alive. */
  readonly answered: { readonly cron_job_id: string; readonly key: string; readonly by: Process }[] = [];
  readonly processes: Process[] = [];
  posts = 0;
  private readonly transit = new Map<string, number>();
  private readonly decoded = new Map<string, DecodedLine>();
  private readonly scheduler: Pick<fc.Scheduler, 'schedule'>;
  private ids = 0;

  readonly says: ListSays;

  constructor(scheduler: Pick<fc.Scheduler, 'schedule'>, says: ListSays) {
    this.scheduler = scheduler;
    this.says = says;
  }

  async step(label: string): Promise<void> {
    await this.scheduler.schedule(Promise.resolve(), label);
    this.now += 1;
  }

  newId(): string {
    this.ids += 1;
    return `r${this.ids}`;
  }

  process(fate: Fate = {}): Process {
    const process = new Process(this, this.processes.length + 1, fate);
    this.processes.push(process);
    return process;
  }

  decode(line: string): DecodedLine {
    const decoded = this.decoded.get(line) ?? decodeLine(Buffer.from(line));
    this.decoded.set(line, decoded);
    return decoded;
  }

  records(): JobRecord[] {
    return [...new Set(this.file.lines())].flatMap((line) => {
      const decoded = this.decode(line);
      return decoded.kind === 'record' ? (fromLogRecord(decoded.record, JOB_RECORDS) ?? []) : [];
    });
  }

  history(key: string): KeyHistory<JobSnapshot> {
    return keyHistory(this.records().filter((record) => record.key === key));
  }

  /** Creates a job at the service. */
  make(job: CronJob): string {
    const cron_job_id = `cron_${this.jobs.length + 1}`;
    this.jobs.push({ ...job, cron_job_id, madeAt: this.now, removed: false });
    return cron_job_id;
  }

  live(job: Pick<CronJob, 'agent_id' | 'name'>): MadeJob[] {
    return this.jobs.filter((made) => !made.removed && keyOf(made) === keyOf(job));
  }

  isOnItsWay(key: string): boolean {
    return (this.transit.get(key) ?? 0) > 0;
  }

  /** Delivers a request. @returns the new job's id; undefined if none was created */
  async carry(job: CronJob, fate: PostFate): Promise<string | undefined> {
    const key = keyOf(job);
    const sentAt = this.now;
    this.transit.set(key, (this.transit.get(key) ?? 0) + 1);
    await this.step('arrive');
    this.transit.set(key, (this.transit.get(key) ?? 0) - 1);
    if (fate === 'vanished' || this.now - sentAt > TRANSIT_MS) return undefined;
    this.posts += 1;
    if (fate === 'refused') return undefined;
    if (this.live(job).length > 0) this.violations.push(`a second job of ${job.agent_id} ${job.name}`);
    return this.make(job);
  }

  listed(): (ListedJob & { readonly schedule: CronJob['schedule'] | undefined })[] {
    const { agents, names, contents } = this.says;
    return this.jobs
      .filter(({ removed, madeAt }) => !removed && (madeAt === 0 || this.now >= madeAt + UNLISTED_MS))
      .map(({ cron_job_id, agent_id, name, instructions, schedule }) => ({
        cron_job_id,
        agent_id: agents ? agent_id : undefined,
        name: names ? name : undefined,
        instructions: contents ? instructions : undefined,
        schedule: contents ? schedule : undefined,
      }));
  }
}

/** One run of the program. */
export class Process {
  readonly pid: number;
  readonly owner: Owner;
  readonly died: Promise<'died'>;
  ended = false;
  private readonly world: World;
  private readonly fate: Fate;
  private steps = 0;
  private appends = 0;
  private die: (how: 'died') => void = () => undefined;

  constructor(world: World, pid: number, fate: Fate) {
    this.world = world;
    this.pid = pid;
    this.fate = fate;
    this.owner = { machine: `m${fate.machine ?? 0}`, pid, started: null };
    this.died = new Promise((resolve) => {
      this.die = resolve;
    });
    const ledger = openLedger(this.makeStore(), JOB_RECORDS, { onUnusable: async () => undefined });
    this.ledger = withRefusals(ledger, 'state.jsonl', FLAGS);
  }

  /** A point at which other processes may run or this one may be killed. */
  async step(label: string): Promise<void> {
    await this.world.step(`${this.pid} ${label}`);
    this.steps += 1;
    if (this.steps !== this.fate.diesAt) return;
    this.ended = true;
    this.die('died');
    await new Promise(() => undefined);
  }

  /** @returns the result of the run */
  async run<Result>(act: () => Promise<Result>): Promise<Result | 'died'> {
    try {
      await this.world.step(`${this.pid} start`);
      return await Promise.race([act(), this.died]);
    } finally {
      this.ended = true;
    }
  }

  private async append(record: NewRecord): Promise<void> {
    await this.step(`append ${record.type}`);
    const fate = this.fate.appends?.[this.appends] ?? 'ok';
    this.appends += 1;
    if (fate === 'out') throw new LocalError('The file cannot be written.');
    const bytes = `\n${encodeRecord(record)}\n`;
    this.world.file.text += typeof fate === 'number' ? bytes.slice(0, Math.floor(bytes.length * fate)) : bytes;
    await this.step(`appended ${record.type}`);
    if (fate !== 'ok') throw new LocalError('The file cannot be written.');
  }

  /** The shared file, read from where this process stopped. An unterminated last line is read again. */
  private makeStore(): RecordStore {
    const sums = new Set<string>();
    const { world } = this;
    let read = '';
    const step = () => this.step('read');
    return {
      append: (record) => this.append(record),
      async *readNew(): AsyncGenerator<StoreEntry> {
        await step();
        const { text } = world.file;
        if (!text.startsWith(read)) {
          yield { kind: 'restart' };
          sums.clear();
          read = '';
        }
        const firstLine = read.split('\n').length;
        const lines = text.slice(read.length).split('\n');
        read = text.slice(0, text.lastIndexOf('\n') + 1);
        for (const [index, line] of lines.entries()) {
          const number = firstLine + index;
          const decoded = line === '' ? undefined : world.decode(line);
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

  readonly ledger: CronDeps['ledger'];

  readonly clock = {
    now: () => this.world.now + (this.fate.clockMs ?? 0),
    monotonic: () => this.world.now,
    sleep: async (ms: number) => {
      await this.step('sleep');
      // Sleeps are longer than in reality, so that runs stay short.
      this.world.now += Math.max(ms, 4_000);
    },
  };

  readonly hasEnded = async ({ machine, pid }: Owner): Promise<boolean | undefined> => {
    await this.step('has it ended');
    if (machine !== this.owner.machine) return undefined;
    return this.world.processes[pid - 1]?.ended;
  };

  private async *list(): AsyncGenerator<JsonObject> {
    await this.step('list');
    if (this.fate.list === 'failing') throw new ServiceError('The service answered 503.', { status: 503 });
    if (this.fate.list === 'closed') throw new CredentialsError('Not allowed.', { status: 403 });
    const listed = this.world.listed();
    await this.step('listed');
    for (const { schedule, ...said } of listed) yield { ...said, schedule: schedule && toWireSchedule(schedule) };
  }

  /** What lookups in the list need. */
  private listOptions(wanted: readonly Pick<CronJob, 'name'>[]): JobListOptions {
    const { clock } = this;
    return {
      list: () => this.list(),
      contract: new Contract(),
      wanted,
      clock,
      wasReadBefore: async () => false,
      failureHint: '',
      onUnavailable: async () => undefined,
    };
  }

  private async post(job: CronJob, timeoutMs: number): Promise<string> {
    const { world } = this;
    const fate = this.fate.post ?? 'answered';
    const deadline = world.now + timeoutMs;
    await this.step('connect');
    if (fate === 'unsent' || world.now >= deadline) throw new ServiceError('The service cannot be reached.');
    const carried = world.carry(job, fate);
    await this.step('sent');
    const cron_job_id = await carried;
    await this.step('answer');
    if (world.now >= deadline) throw new OutcomeUnknownError('No answer came in time.');
    if (fate === 'refused') throw new RefusedError('The service refused it.', { status: 422 });
    if (fate === 'broken') throw new OutcomeUnknownError('The service answered 502.', { status: 502 });
    if (fate === 'lost' || cron_job_id === undefined) throw new OutcomeUnknownError('The answer was lost.');
    world.answered.push({ cron_job_id, key: keyOf(job), by: this });
    return cron_job_id;
  }

  createDeps(job: Pick<CronJob, 'name'> = { name: 'daily' }): CronDeps {
    const { ledger, clock, owner, hasEnded } = this;
    return {
      origin: ORIGIN,
      ledger,
      clock,
      owner,
      hasEnded,
      newId: () => this.world.newId(),
      find: createFreshJobLists(this.listOptions([job])).find,
      post: (wanted, timeoutMs) => this.post(wanted, timeoutMs),
      inTurn: (send) => send(),
      remainingMs: () => this.fate.remainingMs ?? 20_000,
      abortSignal: new AbortController().signal,
      writeRecovery: async (record) => {
        await this.step('write recovery');
        if (!(this.fate.isRecovered ?? true)) return undefined;
        this.world.recovery.push(record);
        return `recovery-${record.id}`;
      },
    };
  }

  reconcileDeps(): ReconcileAllDeps {
    const { ledger, clock, hasEnded } = this;
    return {
      origin: ORIGIN,
      ledger,
      clock,
      hasEnded,
      newId: () => this.world.newId(),
      listJobs: (wanted) => createJobFinder(this.listOptions(wanted)),
      confirm: undefined,
      onWait: () => undefined,
      abortSignal: new AbortController().signal,
    };
  }

  /**
   * The dependencies of `cron adopt` and `cron forget`.
   * @param knows whether the user, asked to confirm, finds at the service what the command assumes
   */
  adoptDeps(knows: () => boolean): AdoptDeps {
    const { ledger, clock, hasEnded } = this;
    return {
      origin: ORIGIN,
      ledger,
      clock,
      hasEnded,
      newId: () => this.world.newId(),
      waitUntil: async (monotonic) => {
        while (this.clock.monotonic() < monotonic) await this.clock.sleep(monotonic - this.clock.monotonic());
      },
      fetchListed: async (id) => this.world.listed().find(({ cron_job_id }) => cron_job_id === id),
      confirm: async () => {
        await this.step('confirm');
        if (!knows()) throw new UsageError('Nothing was changed.');
      },
      flags: FLAGS,
    };
  }
}
