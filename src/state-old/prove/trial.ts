import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Clock } from '../../clock.ts';
import { isJsonObject } from '../../contract/json.ts';
import { LocalError } from '../../errors.ts';
import type { Environment } from '../../state/location.ts';
import type { Life } from './check.ts';
import type { WorkerEvent, WorkerTask } from './worker.ts';

/** The environment variable that makes a program a process of a proof. */
export const WORKER_VARIABLE = 'PARTNERCTL_PROOF';

/** The number of events of a race for one key. */
const EVENTS_PER_KEY = 6;

export interface TrialOptions extends Pick<WorkerTask, 'run' | 'via'> {
  /** The command line that starts a process. */
  readonly command: readonly string[];
  readonly env: Environment;
  readonly keys: number;
  readonly processes: number;
  /** The parent of a directory for each process. */
  readonly directory: string;
  /** How often each process is killed and started again. */
  readonly killsPerProcess: number;
  /** The longest delay between an event and the kill that it triggers, in milliseconds. */
  readonly longestKillDelayMs: number;
  readonly random: () => number;
  readonly clock: Clock;
  readonly abortSignal: AbortSignal;
  /** Called when a process has finished a key. */
  readonly onSettled: () => void;
}

export interface Trial {
  readonly lives: readonly Life[];
  readonly killed: number;
  /** False if the trial ended early, because a process failed or two claimed a key. */
  readonly isComplete: boolean;
}

function isEvent(value: unknown): value is WorkerEvent {
  return isJsonObject(value) && typeof value.kind === 'string';
}

/** Parses a line of a process; undefined for an incomplete line of a killed process. */
function parseEvent(line: string): WorkerEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

class Processes {
  private readonly options: TrialOptions;
  private readonly lives: Life[] = [];
  private readonly ended = new AbortController();
  private readonly claimed = new Set<string>();
  private killed = 0;

  constructor(options: TrialOptions) {
    this.options = options;
  }

  async run(): Promise<Trial> {
    const { processes, abortSignal } = this.options;
    const numbers = Array.from({ length: processes }, (_, index) => index + 1);
    const running = numbers.map((process) => this.runProcess(process));
    try {
      await Promise.all(running);
    } catch (error) {
      this.ended.abort();
      await Promise.allSettled(running);
      throw error;
    }
    abortSignal.throwIfAborted();
    return { lives: this.lives, killed: this.killed, isComplete: !this.ended.signal.aborted };
  }

  /** Restarts a process each time it is killed, until it has finished all keys. */
  private async runProcess(process: number): Promise<void> {
    const left = new Set(Array.from({ length: this.options.keys }, (_, index) => index));
    for (let start = 1; left.size > 0 && !this.signal.aborted; start += 1) {
      const killAt =
        start <= this.options.killsPerProcess
          ? Math.ceil(this.options.random() * left.size * EVENTS_PER_KEY)
          : Infinity;
      const wasKilled = await this.runLife({ process, start, events: [] }, left, killAt);
      if (!wasKilled) return;
    }
  }

  private get signal(): AbortSignal {
    return AbortSignal.any([this.options.abortSignal, this.ended.signal]);
  }

  /** @returns whether the process was killed */
  private async runLife(life: Life & { events: WorkerEvent[] }, left: Set<number>, killAt: number): Promise<boolean> {
    this.lives.push(life);
    const child = this.start(life.process, [...left]);
    let isKilled = false;
    const kill = (): void => {
      isKilled = child.kill('SIGKILL') || isKilled;
    };
    const { signal } = this;
    signal.addEventListener('abort', kill, { once: true });
    if (signal.aborted) kill();
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr = `${stderr}${chunk}`.slice(-2000);
    });
    if (!child.stdout) throw new LocalError('A process of the proof has no output.');
    createInterface({ input: child.stdout }).on('line', (line) => {
      const event = parseEvent(line);
      if (!event) return;
      life.events.push(event);
      if (life.events.length === killAt) setTimeout(kill, this.options.random() * this.options.longestKillDelayMs);
      this.react(event, left);
    });
    const code = await exitOf(child);
    signal.removeEventListener('abort', kill);
    if (isKilled && !signal.aborted) this.killed += 1;
    if (isKilled || signal.aborted || code === 0) return isKilled;
    throw new LocalError(`A process of the proof ended with ${code}.`, { why: stderr.trim() });
  }

  private react(event: WorkerEvent, left: Set<number>): void {
    if (event.kind === 'settled') {
      left.delete(event.number);
      this.options.onSettled();
    }
    const hasTwoOwners = event.kind === 'claimed' && this.claimed.has(event.key);
    if (event.kind === 'claimed') this.claimed.add(event.key);
    if (hasTwoOwners || event.kind === 'failed' || event.kind === 'restarted') this.ended.abort();
  }

  private start(process: number, keys: readonly number[]): ChildProcess {
    const { command, env, run, via, directory } = this.options;
    const task: WorkerTask = { run, keys, via, directory: join(directory, String(process)) };
    const [file = '', ...args] = command;
    return spawn(file, args, {
      env: { ...env, [WORKER_VARIABLE]: JSON.stringify(task) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}

/**
 * Lets processes race for keys, kills each of them at random points, and starts them again.
 * @throws LocalError if a process cannot be started or crashes; the signal's reason if it aborts. No process is left.
 */
export async function runTrial(options: TrialOptions): Promise<Trial> {
  return await new Processes(options).run();
}
