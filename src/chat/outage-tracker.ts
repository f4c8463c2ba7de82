/** A session whose polls fail, or that is catching up afterwards. */
interface SessionOutage {
  /** When the first poll that failed began. */
  readonly since: number;
  readonly phase:
    | { readonly kind: 'failing'; readonly since: number; readonly failures: number }
    | { readonly kind: 'catching-up' };
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
    const { since, phase } = this.sessions.get(session) ?? { since: startedAt, phase: { kind: 'catching-up' } };
    const before = phase.kind === 'failing' ? phase : { since: startedAt, failures: 0 };
    const failures = before.failures + 1;
    this.sessions.set(session, { since, phase: { kind: 'failing', since: before.since, failures } });
    const isOutage = failures >= MIN_FAILURES || now - before.since >= MIN_FAILING_MS;
    if (!isOutage || this.reportedSince !== undefined) return false;
    this.reportedSince = Math.min(...[...this.sessions.values()].map((outage) => outage.since));
    return true;
  }

  /**
   * Records a successful poll.
   * @param count how many messages it returned
   * @param isComplete whether the session has no further pages
   * @returns what to report if this ends the outage
   */
  addSuccess(
    session: string,
    { count, isComplete }: { readonly count: number; readonly isComplete: boolean },
    now: number,
  ): { readonly outageMs: number; readonly missed: number } | undefined {
    const outage = this.sessions.get(session);
    if (!outage) return undefined;
    this.missed += count;
    if (!isComplete) {
      this.sessions.set(session, { ...outage, phase: { kind: 'catching-up' } });
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
    const times = [...this.sessions.values()].flatMap(({ phase }) => (phase.kind === 'failing' ? phase.since : []));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** When a session will have been failing for `maxMs`; Infinity if none is failing. */
  get endsAt(): number {
    return (this.failingSince() ?? Number.POSITIVE_INFINITY) + this.maxMs;
  }

  /** The clock may have been set back: no failure can have begun after now. */
  resetClock(now: number): void {
    for (const [id, { since, phase }] of this.sessions) {
      if (phase.kind === 'failing') {
        this.sessions.set(id, { since, phase: { ...phase, since: Math.min(phase.since, now) } });
      }
    }
  }
}
