/** A session that cannot be read at the moment. */
interface Outage {
  /** Start of the first poll that failed. */
  readonly since: number;
  /** Failures in a row, and the start of the first of them; none while it catches up. */
  failures: number;
  failingSince: number;
}

/** The line is called lost after so many failures in a row, or so long. One failure alone is not worth a word. */
const FAILURES = 3;
const FAILING_MS = 10_000;

/**
 * Whether the line to the service is lost, over all sessions of a command: it is lost once and back once, however many
 * sessions and failures are part of it. Moments are in milliseconds since the epoch.
 */
export class Line {
  private readonly outages = new Map<string, Outage>();
  private lostSince: number | undefined;
  private missed = 0;

  /**
   * A poll that began at `startedAt` failed.
   * @returns whether the line is lost as of now
   */
  failed(session: string, startedAt: number, now: number): boolean {
    const outage = this.outages.get(session) ?? { since: startedAt, failures: 0, failingSince: startedAt };
    if (outage.failures === 0) outage.failingSince = startedAt;
    outage.failures += 1;
    this.outages.set(session, outage);
    const isLost = outage.failures >= FAILURES || now - outage.failingSince >= FAILING_MS;
    if (!isLost || this.lostSince !== undefined) return false;
    this.lostSince = Math.min(...[...this.outages.values()].map(({ since }) => since));
    return true;
  }

  /**
   * A poll was answered.
   * @param count the messages that are shown because of it
   * @param complete whether the session has no further pages
   * @returns what there is to say when the line is back
   */
  answered(
    session: string,
    count: number,
    complete: boolean,
    now: number,
  ): { readonly outageMs: number; readonly missed: number } | undefined {
    const outage = this.outages.get(session);
    if (!outage) return undefined;
    outage.failures = 0;
    this.missed += count;
    if (!complete) return undefined;
    this.outages.delete(session);
    if (this.outages.size > 0) return undefined;
    const { lostSince, missed } = this;
    this.lostSince = undefined;
    this.missed = 0;
    return lostSince === undefined ? undefined : { outageMs: now - lostSince, missed };
  }

  /** Start of the longest outage that is not over; undefined when no session is failing. */
  failingSince(): number | undefined {
    const failing = [...this.outages.values()].filter(({ failures }) => failures > 0);
    return failing.length === 0 ? undefined : Math.min(...failing.map(({ failingSince }) => failingSince));
  }

  /** The clock was set back: an outage cannot have begun after now. */
  woke(now: number): void {
    for (const outage of this.outages.values()) outage.failingSince = Math.min(outage.failingSince, now);
  }
}
