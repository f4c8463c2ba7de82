import type { PartnerctlError } from '../errors.ts';

/** An outage is reported after this many failures in a row, or after this time. */
const MIN_FAILURES = 3;
const MIN_FAILING_MS = 10_000;

/** The failing sessions of a command, as one outage with one start and one end. Times in milliseconds. */
export class Health {
  private readonly failing = new Map<string, { readonly since: number; readonly count: number }>();
  private reportedSince: number | undefined;
  private missed = 0;
  /** The last failure, while a session fails. */
  lastError: PartnerctlError | undefined;

  /** When the session that fails longest began to fail. */
  get since(): number | undefined {
    return this.failing.size === 0 ? undefined : Math.min(...[...this.failing.values()].map(({ since }) => since));
  }

  /** Records a failed poll that began at `startedAt`. @returns whether to report an outage now */
  fail(session: string, error: PartnerctlError, startedAt: number, now: number): boolean {
    this.lastError = error;
    const { since, count } = this.failing.get(session) ?? { since: startedAt, count: 0 };
    this.failing.set(session, { since, count: count + 1 });
    const isOutage = count + 1 >= MIN_FAILURES || now - since >= MIN_FAILING_MS;
    if (!isOutage || this.reportedSince !== undefined) return false;
    this.reportedSince = this.since;
    return true;
  }

  /** Records new messages of a response that may not be complete: the failures before them do not count. */
  arrive(session: string, count: number, now: number): void {
    if (this.failing.size > 0) this.missed += count;
    if (this.failing.has(session)) this.failing.set(session, { since: now, count: 0 });
  }

  /** Records a complete response, or that a session is not followed anymore. @returns the end of an outage */
  succeed(session: string, now: number): { readonly outageMs: number; readonly missed: number } | undefined {
    this.failing.delete(session);
    if (this.failing.size > 0) return undefined;
    const { reportedSince, missed } = this;
    this.lastError = undefined;
    this.reportedSince = undefined;
    this.missed = 0;
    return reportedSince === undefined ? undefined : { outageMs: now - reportedSince, missed };
  }
}
