import type fc from 'fast-check';
import type { ListedCronJob } from '../../../src/contract/resources.ts';
import { forgetJob, recordJob } from '../../../src/cron/adopt-forget.ts';
import type { CronContext } from '../../../src/cron/context.ts';
import { type CreatedJob, ensureJobs, namedIn } from '../../../src/cron/ensure-jobs.ts';
import { type Reconciled, reconcileJobs } from '../../../src/cron/find-lost.ts';
import { type CronJob, cronKey, JOB_KIND, type JobData } from '../../../src/cron/job.ts';
import { JobLists } from '../../../src/cron/job-list.ts';
import {
  CredentialsError,
  LocalError,
  OutcomeUnknownError,
  RefusedError,
  ServiceError,
  UsageError,
} from '../../../src/errors.ts';
import { Log } from '../../../src/state/log.ts';
import { decode, type LogRecord } from '../../../src/state/record.ts';
import type { SendOptions } from '../../../src/state/reserve-and-send.ts';
import { type Standing, Standings } from '../../../src/state/standing.ts';
import { NO_PROFILES } from '../../support/run.ts';

const ORIGIN = 'https://partner.test/v1';

type Named = Pick<CronJob, 'agent_id' | 'name'>;

export function keyOf({ agent_id, name }: Named): string {
  return cronKey({ origin: ORIGIN, agent_id, name });
}

/** The longest time a request is in transit, and a new job is missing from the list; together less than a lease. */
const TRANSIT_MS = 4_000;
export const UNLISTED_MS = 4_000;

/** How an append ends: `out` and `in` fail, without and with the record in the file; a number is the share written. */
export type AppendFate = 'ok' | 'out' | 'in' | number;

/**
 * How a POST ends. `lost`: the job is created, the response lost. `vanished`: the request never arrives. `broken`: the
 * job is created, the response is a 502.
 */
export type PostFate = 'answered' | 'lost' | 'vanished' | 'broken' | 'refused' | 'unsent';

/** What happens to a process. */
export interface Fate {
  /** The step at which it is killed. */
  readonly diesAt?: number | undefined;
  /** How its appends end, in order; later ones succeed. */
  readonly appends?: readonly AppendFate[] | undefined;
  /** Which of its readings of the log fail, in order; later ones succeed. */
  readonly reads?: readonly ('ok' | 'fails')[] | undefined;
  readonly post?: PostFate | undefined;
  readonly list?: 'read' | 'closed' | 'failing' | undefined;
  /** How far its machine's clock is ahead. */
  readonly clockMs?: number | undefined;
  /** The step at which it is stopped, and for how long. */
  readonly stop?: { readonly at: number; readonly ms: number } | undefined;
}

/** The fields in the service's list besides the id. */
export interface ListSays {
  readonly agents: boolean;
  readonly contents: boolean;
}

interface MadeJob extends CronJob {
  readonly cron_job_id: string;
  readonly madeAt: number;
  removed: boolean;
  /** When somebody last changed it at the service. */
  changedAt: number;
}

/**
 * A service that creates a job for each POST, processes that share files and a clock, and everything that can go wrong
 * between them. The scheduler decides which process runs next.
 */
export class World {
  now = Date.parse('2026-03-02T09:00:00Z');
  /** The text of the state file, to which all processes append. */
  file = '';
  readonly jobs: MadeJob[] = [];
  readonly violations: string[] = [];
  /** The ids that processes received from the service while they were alive. */
  readonly answered: { readonly cron_job_id: string; readonly key: string; readonly by: Process }[] = [];
  readonly processes: Process[] = [];
  posts = 0;
  private readonly transit = new Map<string, number>();
  private readonly scheduler: Pick<fc.Scheduler, 'schedule'>;

  readonly says: ListSays;

  constructor(scheduler: Pick<fc.Scheduler, 'schedule'>, says: ListSays) {
    this.scheduler = scheduler;
    this.says = says;
  }

  async step(label: string): Promise<void> {
    await this.scheduler.schedule(Promise.resolve(), label);
    this.now += 1;
  }

  process(fate: Fate = {}): Process {
    const process = new Process(this, this.processes.length + 1, fate);
    this.processes.push(process);
    return process;
  }

  lines(): string[] {
    return this.file.split('\n').filter((line) => line !== '');
  }

  records(): readonly LogRecord[] {
    const records = new Map<string, LogRecord>();
    for (const line of this.lines()) {
      const decoded = decode(line);
      if (decoded.kind === 'damaged') throw new Error(`a damaged line: ${line}`);
      if (decoded.kind === 'record' && !records.has(decoded.record.id)) records.set(decoded.record.id, decoded.record);
    }
    return [...records.values()];
  }

  standing(key: string): Standing<JobData> {
    return new Standings(JOB_KIND).add(this.records()).of(key);
  }

  /** Creates a job at the service. */
  make(job: CronJob): string {
    const cron_job_id = `cron_${this.jobs.length + 1}`;
    this.jobs.push({ ...job, cron_job_id, madeAt: this.now, removed: false, changedAt: 0 });
    return cron_job_id;
  }

  /** Changes what a job does at the service. */
  change(job: MadeJob, content: Omit<CronJob, 'agent_id' | 'name'>): void {
    Object.assign(job, content, { changedAt: this.now });
  }

  live(job: Named): MadeJob[] {
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

  listed(): ListedCronJob[] {
    const { agents, contents } = this.says;
    return this.jobs
      .filter(({ removed, madeAt }) => !removed && (madeAt === 0 || this.now >= madeAt + UNLISTED_MS))
      .map(({ cron_job_id, agent_id, name, instructions, schedule }) => ({
        cron_job_id,
        agent_id: agents ? agent_id : undefined,
        agent_text: undefined,
        name,
        instructions: contents ? instructions : undefined,
        schedule: contents ? schedule : undefined,
      }));
  }
}

/** One run of the program. */
export class Process {
  readonly pid: number;
  private readonly log: Log;
  readonly died: Promise<'died'>;
  ended = false;
  startedAt = 0;
  /** How many of its requests left it. */
  sent = 0;
  private readonly world: World;
  readonly fate: Fate;
  private steps = 0;
  private appends = 0;
  private reads = 0;
  private die: (how: 'died') => void = () => undefined;

  constructor(world: World, pid: number, fate: Fate) {
    this.world = world;
    this.pid = pid;
    this.fate = fate;
    this.died = new Promise((resolve) => {
      this.die = resolve;
    });
    this.log = new Log({
      driver: {
        label: 'state.jsonl',
        batch: 8,
        load: async () => ({ from: 0, lines: (await this.read()).split('\n') }),
        write: (lines) => this.append(`\n${lines.join('\n')}\n`),
        prepare: async () => undefined,
        check: async () => undefined,
        close: async () => undefined,
      },
      author: { user: 'ada', host: 'laptop', pid },
      clock: this.clock,
      redact: (text) => text,
    });
  }

  /** A point at which other processes may run or this one may be killed. */
  async step(label: string): Promise<void> {
    await this.world.step(`${this.pid} ${label}`);
    this.steps += 1;
    if (this.steps === this.fate.stop?.at) await this.pause(this.fate.stop.ms);
    if (this.steps !== this.fate.diesAt) return;
    this.ended = true;
    this.die('died');
    await new Promise(() => undefined);
  }

  /** Others run while this process is stopped. */
  private async pause(ms: number): Promise<void> {
    const until = this.world.now + ms;
    while (this.world.now < until) {
      await this.world.step(`${this.pid} stopped`);
      this.world.now += 5_000;
    }
  }

  /** @returns the result of the run */
  async run<Result>(act: () => Promise<Result>): Promise<Result | 'died'> {
    try {
      await this.world.step(`${this.pid} start`);
      this.startedAt = this.world.now;
      return await Promise.race([act(), this.died]);
    } finally {
      this.ended = true;
    }
  }

  private async append(bytes: string): Promise<void> {
    await this.step('append');
    const fate = this.fate.appends?.[this.appends] ?? 'ok';
    this.appends += 1;
    if (fate === 'out') throw new LocalError('The file cannot be written.');
    this.world.file += typeof fate === 'number' ? bytes.slice(0, Math.floor(bytes.length * fate)) : bytes;
    await this.step('appended');
    if (fate !== 'ok') throw new LocalError('The file cannot be written.');
  }

  readonly clock = {
    now: () => this.world.now + (this.fate.clockMs ?? 0),
    monotonic: () => this.world.now,
    sleep: async (ms: number) => {
      await this.step('sleep');
      // Sleeps are longer than in reality, so that runs stay short.
      this.world.now += Math.max(ms, 4_000);
    },
  };

  private async *list(): AsyncGenerator<ListedCronJob> {
    await this.step('list');
    if (this.fate.list === 'failing') throw new ServiceError('The service answered 503.', { status: 503 });
    if (this.fate.list === 'closed') throw new CredentialsError('Not allowed.', { status: 403 });
    const listed = this.world.listed();
    await this.step('listed');
    yield* listed;
  }

  private async post(job: CronJob, { maySend, timeoutMs }: SendOptions): Promise<string> {
    const { world } = this;
    const fate = this.fate.post ?? 'answered';
    const deadline = world.now + timeoutMs;
    await this.step('connect');
    if (fate === 'unsent' || world.now >= deadline) throw new ServiceError('The service cannot be reached.');
    if (!maySend()) throw new ServiceError('The request was not sent.');
    this.sent += 1;
    const carried = world.carry(job, fate);
    await this.step('sent');
    const cron_job_id = await carried;
    await this.step('answer');
    if (world.now >= deadline) throw new OutcomeUnknownError('No answer came.');
    if (fate === 'refused') throw new RefusedError('The service refused it.', { status: 422 });
    if (fate === 'broken') throw new OutcomeUnknownError('The service answered 502.', { status: 502 });
    if (fate === 'lost' || cron_job_id === undefined) throw new OutcomeUnknownError('No answer came.');
    world.answered.push({ cron_job_id, key: keyOf(job), by: this });
    return cron_job_id;
  }

  private async read(): Promise<string> {
    await this.step('read');
    this.reads += 1;
    if (this.fate.reads?.[this.reads - 1] === 'fails') throw new LocalError('The file cannot be read.');
    return this.world.file;
  }

  async create(job: CronJob, ensure: boolean): Promise<CreatedJob> {
    const created: CreatedJob[] = [];
    const wanted = [{ index: 0, source: undefined, job }];
    const post = (wanted: CronJob, options: SendOptions) => this.post(wanted, options);
    // The jobs of the model have one text.
    const how = { ensure, dryRun: false, createBeside: true, isNamed: namedIn(wanted) };
    const deps = { ...this.deps(), post, onUnread: () => undefined };
    await ensureJobs(deps, wanted, how, (each) => created.push(each));
    const [only, ...more] = created;
    if (!only || more.length > 0) throw new Error('A job has one outcome.');
    return only;
  }

  reconcile(assumeNotCreated: boolean): Promise<readonly Reconciled[]> {
    return reconcileJobs({ ...this.deps(), isNotCreated: async () => assumeNotCreated });
  }

  /** @param knows whether the user finds at the service what the command assumes */
  async adopt(job: Named, jobId: string, knows: () => boolean): Promise<void> {
    const listed = this.world.listed().find(({ cron_job_id }) => cron_job_id === jobId);
    await recordJob(this.asking(knows), jobId, { origin: ORIGIN, ...job }, { yes: false, listed });
  }

  async forget(job: Named, knows: () => boolean): Promise<void> {
    await forgetJob(this.asking(knows), keyOf(job), undefined, false);
  }

  private deps() {
    const { log, clock } = this;
    const lists = new JobLists({ list: () => this.list(), clock, hint: () => '' });
    const command = (words: readonly string[]) => words.join(' ');
    return {
      origin: ORIGIN,
      log,
      clock,
      lists,
      signal: new AbortController().signal,
      command,
      remainingMs: () => Number.POSITIVE_INFINITY,
      notice: async () => undefined,
      onWait: () => undefined,
    };
  }

  private asking(knows: () => boolean): CronContext {
    const { clock, signal: abortSignal, command, log } = this.deps();
    const none = () => undefined;
    const confirm = async () => {
      await this.step('confirm');
      if (!knows()) throw new UsageError('Nothing was changed.');
      return true;
    };
    return {
      ...{
        clock,
        abortSignal,
        command,
        prompts: { confirm },
        env: {},
        io: { stdin: process.stdin },
      },
      progress: { start: none, countdown: none, stop: none },
      http: () => Promise.reject(new Error('The service is not called.')),
      flags: { baseUrl: ORIGIN },
      config: NO_PROFILES,
      notice: async () => undefined,
      warn: async () => undefined,
      log: async () => log,
    };
  }
}
