import type { ChatContext } from './session.ts';

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

interface PaceDeps extends Pick<ChatContext, 'clock' | 'random'> {
  /** A fixed pause; undefined: adaptive. */
  readonly intervalMs: number | undefined;
  readonly sessions: () => number;
}

/** When to poll a session next: fast while something happens, then ever more slowly. */
export class Pace {
  private readonly deps: PaceDeps;
  private activeAt: number;
  private waking = new AbortController();

  constructor(deps: PaceDeps) {
    this.deps = deps;
    this.activeAt = deps.clock.now();
  }

  /** Something was said. */
  touch(): void {
    this.activeAt = this.deps.clock.now();
  }

  /** Something is about to be said, or following ends: ends the wait that lasts, or else the next one. */
  wake(): void {
    this.touch();
    this.waking.abort();
  }

  /** Waits for the next poll. @param failures failed polls in a row @param atLeastMs what the service asks for */
  async wait(failures: number, atLeastMs: number, atMostMs: number): Promise<void> {
    const { clock, random } = this.deps;
    const usual = failures === 0 ? this.pauseMs() : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** (failures - 1));
    const ms = Math.min(Math.max(atLeastMs, usual * (1 + JITTER * random())), atMostMs);
    await clock.sleep(ms, this.waking.signal).catch(() => undefined);
    if (this.waking.signal.aborted) this.waking = new AbortController();
  }

  private pauseMs(): number {
    const { clock, intervalMs, sessions } = this.deps;
    if (intervalMs !== undefined) return intervalMs;
    const least = Math.max(ACTIVE_MS, sessions() * ACTIVE_SHARE_MS);
    const most = Math.max(IDLE_MS, sessions() * IDLE_SHARE_MS);
    return Math.max(least, Math.min(most, (clock.now() - this.activeAt) * IDLE_FRACTION));
  }
}
