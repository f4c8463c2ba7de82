import type { Clock } from '../platform/clock.ts';

/** The shortest pause: a reply is on the screen well within a second. */
const ACTIVE_MS = 600;
const IDLE_MS = 10_000;
/** The pause is this fraction of the time since something was said. */
const IDLE_FRACTION = 1 / 10;
/** With many sessions, the shortest and the longest pause grow by so much for each: about 100 polls a second, and 2. */
const ACTIVE_SHARE_MS = 9;
const IDLE_SHARE_MS = 500;
const RETRY_MS = 400;
const MAX_RETRY_MS = 30_000;
/** Pauses are extended by up to this fraction, so that many clients spread out. */
const JITTER = 0.2;

interface PaceOptions {
  /** A fixed pause; undefined: adaptive. */
  readonly fixedMs?: number | undefined;
  /** How many sessions the command follows. */
  readonly sessions?: () => number;
}

/** The time limits of a wait, in milliseconds. */
interface WaitLimits {
  /** Failed polls in a row. */
  readonly failures: number;
  /** What the service asks for. */
  readonly atLeastMs: number;
  readonly atMostMs: number;
}

/** When to poll a session next: fast while something happens, then ever more slowly. */
export class Pace {
  private readonly clock: Clock;
  private readonly random: () => number;
  private readonly options: PaceOptions;
  private activeAt: number;

  constructor(clock: Clock, random: () => number, options: PaceOptions = {}) {
    this.clock = clock;
    this.random = random;
    this.options = options;
    this.activeAt = clock.now();
  }

  /** Something was said. */
  touch(): void {
    this.activeAt = this.clock.now();
  }

  /** Waits for the next poll. */
  async wait({ failures, atLeastMs, atMostMs }: WaitLimits, signal: AbortSignal): Promise<void> {
    const usual = failures === 0 ? this.pauseMs() : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** (failures - 1));
    const ms = Math.max(atLeastMs, usual * (1 + JITTER * this.random()));
    // Whoever ends the wait knows why.
    await this.clock.sleep(Math.min(ms, atMostMs), signal).catch(() => undefined);
  }

  private pauseMs(): number {
    const { fixedMs, sessions = () => 1 } = this.options;
    if (fixedMs !== undefined) return fixedMs;
    const least = Math.max(ACTIVE_MS, sessions() * ACTIVE_SHARE_MS);
    const most = Math.max(IDLE_MS, sessions() * IDLE_SHARE_MS);
    return Math.max(least, Math.min(most, (this.clock.now() - this.activeAt) * IDLE_FRACTION));
  }
}
