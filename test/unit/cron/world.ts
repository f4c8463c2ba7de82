import type fc from 'fast-check';
import {
  type CronJob,
  Engine,
  failures,
  keyOf,
  type ListedJob,
  type LogRecord,
  recordsIn,
  type SendOptions,
  type Surroundings,
  standingIn,
} from './engine.ts';

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
    return recordsIn(this.lines());
  }

  standing(key: string): ReturnType<typeof standingIn> {
    return standingIn(this.records(), key);
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

  listed(): ListedJob[] {
    const { agents, contents } = this.says;
    return this.jobs
      .filter(({ removed, madeAt }) => !removed && (madeAt === 0 || this.now >= madeAt + UNLISTED_MS))
      .map(({ cron_job_id, agent_id, name, instructions, schedule }) => ({
        cron_job_id,
        agent_id: agents ? agent_id : undefined,
        name,
        instructions: contents ? instructions : undefined,
        schedule: contents ? schedule : undefined,
      }));
  }
}

/** One run of the program. */
export class Process {
  readonly pid: number;
  readonly engine: Engine;
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
    this.engine = new Engine(this.surroundings());
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
    if (fate === 'out') throw failures.unwritable();
    this.world.file += typeof fate === 'number' ? bytes.slice(0, Math.floor(bytes.length * fate)) : bytes;
    await this.step('appended');
    if (fate !== 'ok') throw failures.unwritable();
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

  private async *list(): AsyncGenerator<ListedJob> {
    await this.step('list');
    if (this.fate.list === 'failing') throw failures.unavailable();
    if (this.fate.list === 'closed') throw failures.forbidden();
    const listed = this.world.listed();
    await this.step('listed');
    yield* listed;
  }

  private async post(job: CronJob, { maySend, timeoutMs }: SendOptions): Promise<string> {
    const { world } = this;
    const fate = this.fate.post ?? 'answered';
    const deadline = world.now + timeoutMs;
    await this.step('connect');
    if (fate === 'unsent' || world.now >= deadline) throw failures.unreachable();
    if (!maySend()) throw failures.late();
    this.sent += 1;
    const carried = world.carry(job, fate);
    await this.step('sent');
    const cron_job_id = await carried;
    await this.step('answer');
    if (world.now >= deadline) throw failures.noAnswer();
    if (fate === 'refused') throw failures.refused();
    if (fate === 'broken') throw failures.badGateway();
    if (fate === 'lost' || cron_job_id === undefined) throw failures.noAnswer();
    world.answered.push({ cron_job_id, key: keyOf(job), by: this });
    return cron_job_id;
  }

  /** Asks the user. @param knows whether they find at the service what the command assumes */
  async confirm(knows: () => boolean): Promise<void> {
    await this.step('confirm');
    if (!knows()) throw failures.declined();
  }

  private surroundings(): Surroundings {
    const { world, pid, clock } = this;
    return {
      pid,
      clock,
      append: (bytes) => this.append(bytes),
      read: async () => {
        await this.step('read');
        this.reads += 1;
        if (this.fate.reads?.[this.reads - 1] === 'fails') throw failures.unreadable();
        return world.file;
      },
      list: () => this.list(),
      lookUp: (jobId) => world.listed().find(({ cron_job_id }) => cron_job_id === jobId),
      post: (job, options) => this.post(job, options),
    };
  }
}
