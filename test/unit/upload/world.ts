import { sha256 } from '../../support/forms.ts';
import {
  failures,
  keyOf,
  type LogRecord,
  type Owner,
  type StreamedBody,
  type Surroundings,
  type UploadOptions,
  type UploadOutcome,
  type UploadRecord,
  type UploadSource,
  upload,
  uploadRecordOf,
} from './engine.ts';

/** How an attempt ends before the service has the entire file. */
const BEFORE = ['reset', 'given up', 'refused'] as const;
/** How an attempt ends once the service has the entire file. */
const AFTER = ['answered', 'lost', 'lost on the way', 'refused whole'] as const;
export const ATTEMPT_OUTCOMES = [...BEFORE, ...AFTER] as const;

type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

export interface Fate {
  /** How its attempts end, in order; later ones succeed. */
  readonly attempts: readonly AttemptOutcome[];
  /** The step at which it is killed. */
  readonly diesAt: number;
  /** The append that fails; with `isKept`, its record is in the log nevertheless. */
  readonly failsAt: number;
  readonly isKept: boolean;
  readonly reservesFirst: boolean;
}

export const GOOD: Fate = {
  attempts: [],
  diesAt: Number.POSITIVE_INFINITY,
  failsAt: -1,
  isKept: false,
  reservesFirst: false,
};

interface Made {
  readonly id: string;
  readonly key: string;
  readonly by: Process;
}

/** A state file, a service, and processes that use both. */
export class World {
  /** The state file. */
  readonly log: LogRecord[] = [];
  readonly made: Made[] = [];
  readonly violations: string[] = [];
  readonly processes: Process[] = [];
  /** Awaited before every step; decides which of the concurrent processes is next. */
  readonly turn: () => Promise<void>;
  private ids = 0;

  constructor(turn: () => Promise<void> = async () => undefined) {
    this.turn = turn;
  }

  newId(): string {
    this.ids += 1;
    return `i${this.ids}`;
  }

  process(fate: Fate = GOOD): Process {
    const process = new Process(this, fate, this.processes.length + 1);
    this.processes.push(process);
    return process;
  }

  types(): string[] {
    return this.log.map(({ type }) => type.replace('upload.', ''));
  }

  records(): UploadRecord[] {
    return this.log.flatMap((record) => uploadRecordOf(record) ?? []);
  }

  /** The reservations of a process that no other record ends. */
  openOf(pid: number): UploadRecord[] {
    const records = this.records();
    const ended = records.map((record) => ('reservation' in record ? record.reservation : undefined));
    return records.filter(
      (record) => record.kind === 'reserved' && record.owner.pid === pid && !ended.includes(record.id),
    );
  }

  /** The service receives a complete file and creates an upload. Records every violated promise. */
  make(key: string, by: Process): string {
    const earlier = this.made.filter((made) => made.key === key);
    const { force, retryUnknown } = by.options;
    if (this.openOf(by.pid).length === 0) this.violations.push('created without a reservation');
    const isDone = this.records().some((record) => record.kind === 'created' && record.key === key);
    if (isDone && !force) this.violations.push('created again after it was recorded');
    if (earlier.length > 0 && !force && !retryUnknown)
      this.violations.push('created again without --force or --retry-unknown');
    if (earlier.some((made) => !made.by.isOver && this.openOf(made.by.pid).length > 0)) {
      this.violations.push('created by two processes at once');
    }
    const id = `att_${this.made.length + 1}`;
    this.made.push({ id, key, by });
    return id;
  }
}

/** One run of the program, for one file. */
export class Process {
  isOver = false;
  options: UploadOptions = { force: false, retryUnknown: false };
  private readonly world: World;
  private readonly fate: Fate;
  readonly pid: number;
  private steps = 0;
  private time = 0;
  private appends = 0;
  private kill: () => void = () => undefined;

  constructor(world: World, fate: Fate, pid: number) {
    this.world = world;
    this.fate = fate;
    this.pid = pid;
  }

  /** A point at which it may be killed or another process may run. */
  private async step(): Promise<void> {
    await this.world.turn();
    this.steps += 1;
    if (this.steps !== this.fate.diesAt) return;
    this.isOver = true;
    this.kill();
    await new Promise(() => undefined);
  }

  private async append(record: LogRecord): Promise<void> {
    await this.step();
    this.appends += 1;
    const fails = this.appends === this.fate.failsAt;
    if (!fails || this.fate.isKept) this.world.log.push(record);
    if (fails) throw failures.diskFull();
    await this.step();
  }

  private async post(source: UploadSource, body: StreamedBody): Promise<string> {
    for (let attempt = 0; ; attempt += 1) {
      const end = this.fate.attempts[attempt] ?? 'answered';
      const over = new AbortController();
      let bytes = 0;
      const taken: Uint8Array[] = [];
      await this.step();
      for await (const chunk of body.chunks(over.signal)) {
        await this.step();
        bytes += chunk.length;
        // Once the last bytes are requested, they count as sent.
        if (bytes === body.bytes) break;
        taken.push(chunk);
        if (end === 'refused') throw failures.unauthorized();
        if (end === 'given up') throw failures.unreachable();
        if (end === 'reset') break;
      }
      if (end === 'reset' && bytes < body.bytes) {
        over.abort();
        continue;
      }
      if (bytes !== body.bytes) throw new TypeError(`a body of ${bytes} bytes in place of ${body.bytes}`);
      if (end === 'refused whole') throw failures.refused();
      if (end === 'lost on the way') throw failures.lost();
      const content = Buffer.concat(taken).subarray(source.form().head.length);
      const id = this.world.make(keyOf(source, sha256(content)), this);
      await this.step();
      if (end === 'lost') throw failures.lost();
      return id;
    }
  }

  private surroundings(source: UploadSource): Surroundings {
    const { world } = this;
    return {
      log: world.log,
      append: (record) => this.append(record),
      beforeRead: () => this.step(),
      clock: {
        now: () => this.time,
        monotonic: () => this.time,
        sleep: (ms) => {
          this.time += ms;
          return this.step();
        },
      },
      newId: () => world.newId(),
      owner: { machine: 'here', pid: this.pid, started: null },
      hasEnded: async ({ machine, pid }: Owner) => {
        await this.step();
        return machine === 'here' ? world.processes[pid - 1]?.isOver : undefined;
      },
      post: (body) => this.post(source, body),
      reservesFirst: this.fate.reservesFirst,
    };
  }

  /** Runs it until it ends or is killed, and checks what it reports. */
  async upload(source: UploadSource, options: Partial<UploadOptions> = {}): Promise<UploadOutcome | 'died'> {
    this.options = { ...this.options, ...options };
    const died = new Promise<'died'>((resolve) => {
      this.kill = () => resolve('died');
    });
    const outcome = await Promise.race([upload(source, this.options, this.surroundings(source)), died]);
    this.isOver = true;
    if (outcome !== 'died') await this.check(source, outcome);
    return outcome;
  }

  private async check(source: UploadSource, outcome: UploadOutcome): Promise<void> {
    const { violations, made } = this.world;
    const records = this.world.records();
    const hash = sha256(await contentOf(source));
    const key = keyOf(source, hash);
    if (outcome.status === 'uploaded' || outcome.status === 'skipped') {
      const { id, status } = outcome;
      if (outcome.sha256 !== hash) violations.push(`${status} with another hash`);
      const there = made.find((each) => each.id === id && each.key === key);
      if (!there) violations.push(`${status} ${id}, which does not exist`);
      if (status === 'uploaded' && there?.by !== this) violations.push(`uploaded ${id}, which another process created`);
      const isRecorded = records.some((record) => record.kind === 'created' && record.remoteId === id);
      if (!isRecorded && !('unrecorded' in outcome)) violations.push(`${status} ${id}, which is not recorded`);
    }
    const mine = made.filter(({ by }) => by === this);
    if (mine.length > 0 && outcome.status !== 'uploaded' && outcome.status !== 'unknown') {
      violations.push(`${outcome.status}, although it was created`);
    }
    // A process that knows the outcome must record it, or a later run would treat it as unknown.
    if (this.fate.failsAt < 0 && this.world.openOf(this.pid).length > 0)
      violations.push('its reservation is still open');
  }
}

async function contentOf(source: UploadSource): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source.content(new AbortController().signal)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
