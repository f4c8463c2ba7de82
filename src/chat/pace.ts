import type { ChatContext } from './session.ts';

/** The shortest pause: a reply is on the screen well within a second. */
const ACTIVE_MS = 600;
/** The shortest pause where nobody looks, and each reply is waited for. */
const TEST_ACTIVE_MS = 150;
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

/** Returns the shortest pause for each of several sessions in which agents are tested, in milliseconds. */
export function testPauseMs(sessions: number): number {
  return Math.max(TEST_ACTIVE_MS, sessions * ACTIVE_SHARE_MS);
}

interface PaceDeps extends Pick<ChatContext, 'clock' | 'random'> {
  /** A fixed pause; undefined: adaptive. */
  readonly intervalMs: number | undefined;
  /** The shortest adaptive pause. */
  readonly activeMs?: number | undefined;
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

  /** Waits before the next request, or until something is about to be said. */
  async wait(ms: number): Promise<void> {
    await this.deps.clock.sleep(ms, this.waking.signal).catch(() => undefined);
    if (this.waking.signal.aborted) this.waking = new AbortController();
  }

  /** Returns the pause after a failed request. @param failures those in a row before it */
  retryMs(failures: number): number {
    return this.jittered(Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** failures));
  }

  /** Returns the pause after a poll. */
  pauseMs(): number {
    const { clock, intervalMs, activeMs = ACTIVE_MS, sessions } = this.deps;
    const least = Math.max(activeMs, sessions() * ACTIVE_SHARE_MS);
    const most = Math.max(IDLE_MS, sessions() * IDLE_SHARE_MS);
    const adaptive = Math.max(least, Math.min(most, (clock.now() - this.activeAt) * IDLE_FRACTION));
    return this.jittered(intervalMs ?? adaptive);
  }

  private jittered(ms: number): number {
    return ms * (1 + JITTER * this.deps.random());
  }
}
