/** Polls that failed with nothing new between them. */
interface FailedPolls {
  readonly since: number;
  readonly count: number;
}

/** A session whose polls fail, or that is catching up afterwards. */
interface SessionOutage {
  /** When the first poll that failed began. */
  readonly since: number;
  readonly phase: 'failing' | 'catching-up';
  /** Undefined while catching up, once a poll returned something new. */
  readonly failed: FailedPolls | undefined;
}

/** An outage is reported after this many failures in a row, or after this time. */
const MIN_FAILURES = 3;
const MIN_FAILING_MS = 10_000;

/**
 * Combines the failures of all followed sessions into one outage, which starts once and ends once. Times are in
 * milliseconds since the epoch.
 */
export class OutageTracker {
  private readonly sessions = new Map<string, SessionOutage>();
  private reportedSince: number | undefined;
  private missed = 0;
  /** How long an outage may last. */
  readonly maxMs: number;

  constructor(maxMs = Number.POSITIVE_INFINITY) {
    this.maxMs = maxMs;
  }

  /** Records a failed poll that began at `startedAt`. @returns whether an outage has to be reported now */
  addFailure(session: string, startedAt: number, now: number): boolean {
    const outage = this.sessions.get(session);
    const before = outage?.failed ?? { since: startedAt, count: 0 };
    const failed = { since: before.since, count: before.count + 1 };
    this.sessions.set(session, { since: outage?.since ?? startedAt, phase: 'failing', failed });
    const isOutage = failed.count >= MIN_FAILURES || now - failed.since >= MIN_FAILING_MS;
    if (!isOutage || this.reportedSince !== undefined) return false;
    this.reportedSince = Math.min(...[...this.sessions.values()].map((outage) => outage.since));
    return true;
  }

  /**
   * Records a successful poll.
   * @param count how many messages it returned
   * @param hasNew whether it read messages that no earlier poll had read
   * @param isComplete whether the session has no further pages
   * @returns what to report if this ends the outage
   */
  addSuccess(
    session: string,
    { count, hasNew, isComplete }: { readonly count: number; readonly hasNew: boolean; readonly isComplete: boolean },
    now: number,
  ): { readonly outageMs: number; readonly missed: number } | undefined {
    const outage = this.sessions.get(session);
    if (!outage) return undefined;
    this.missed += count;
    if (!isComplete) {
      // A page that fails every time is an outage, although the pages before it can be read.
      const failed = hasNew ? undefined : outage.failed;
      this.sessions.set(session, { ...outage, phase: 'catching-up', failed });
      return undefined;
    }
    this.sessions.delete(session);
    if (this.sessions.size > 0) return undefined;
    const { reportedSince, missed } = this;
    this.reportedSince = undefined;
    this.missed = 0;
    return reportedSince === undefined ? undefined : { outageMs: now - reportedSince, missed };
  }

  /** Forgets a session, which is not polled anymore. */
  remove(session: string): void {
    this.sessions.delete(session);
  }

  /** When the session that has been failing longest began to fail; undefined if none is failing. */
  failingSince(): number | undefined {
    const times = [...this.sessions.values()].flatMap(({ phase, failed }) =>
      phase === 'failing' ? (failed?.since ?? []) : [],
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** When a session will have been failing for `maxMs`; Infinity if none is failing. */
  get endsAt(): number {
    return (this.failingSince() ?? Number.POSITIVE_INFINITY) + this.maxMs;
  }

  /** The clock may have been set back: no failure can have begun after now. */
  resetClock(now: number): void {
    for (const [id, { failed, ...outage }] of this.sessions) {
      if (failed) this.sessions.set(id, { ...outage, failed: { ...failed, since: Math.min(failed.since, now) } });
    }
  }
}
