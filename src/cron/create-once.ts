import type { Clock } from '../clock.ts';
import { LocalError, PartnerctlError, provesNothingDone } from '../errors.ts';
import { factsOf, hasOtherContent, listedFacts } from './facts.ts';
import {
  type CronRecord,
  type Ended,
  historiesOf,
  historyOf,
  type JobFacts,
  type KeyHistory,
  type Owner,
  type Recorded,
  type Reserved,
} from './history.ts';
import { type CronJob, cronKey, findDifferences } from './job.ts';
import { contentOf, type ListedJob } from './matching.ts';
import type { CreateOutcome } from './outcome.ts';
import { isOver, type Judge, LONGEST_POST_MS, MARGIN_MS } from './reservation.ts';

/** The state file, as far as one job is concerned. */
export interface Ledger {
  /** The sound records of one key, in the order of the file. @throws LocalError */
  read(job: { readonly key: string; readonly agent_id: string; readonly name: string }): Promise<readonly CronRecord[]>;
  /** Those of all keys. @throws LocalError */
  readAll(): Promise<{ readonly records: readonly CronRecord[] }>;
  /** Resolves once it is on disk. @throws LocalError; the record may be there all the same */
  append(record: CronRecord): Promise<void>;
  /** Leaves a record beside a file that cannot be written. @returns where it is; undefined where that failed too */
  rescue(record: CronRecord): Promise<string | undefined>;
}

/** What the service's list says of one job; `closed` where it has none that can be read. */
export type Found =
  | {
      readonly kind: 'read';
      /** When reading it began, in milliseconds. */
      readonly at: number;
      readonly same: readonly ListedJob[];
      readonly maybe: readonly ListedJob[];
      /** Whether it has a job of this id, whatever its name; not known where not all of it could be read. */
      readonly isListed: (cronJobId: string) => boolean | undefined;
    }
  | { readonly kind: 'closed' };

/** What guarding a creation needs of the world. */
export interface GuardParts extends Judge {
  readonly origin: string;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly owner: Owner;
  /** Looks for a job in the service's list. @throws PartnerctlError where it could be read another time */
  readonly find: (job: CronJob) => Promise<Found>;
  /**
   * Sends the one POST, and sends nothing after the time given, in milliseconds.
   * @throws OutcomeUnknownError where a job may have been made; any other PartnerctlError is proof that none was
   */
  readonly post: (job: CronJob, timeoutMs: number) => Promise<string>;
  /** Milliseconds that the command may still take. */
  readonly patienceMs: () => number;
  /** Ends waiting for another process. */
  readonly ended: AbortSignal;
}

const LOOK_AGAIN_MS = 200;
/** A service may list a new job a little later. */
export const LISTED_WITHIN_MS = 60_000;

function notReadBack(): LocalError {
  return new LocalError('The reservation of the job cannot be read back from the state file.', {
    hint: 'Nothing was sent. `partnerctl state verify` checks the file.',
  });
}

/**
 * Creates a job at most once (spec §4.5: the POST is not idempotent). The order of the state file decides: whoever's
 * reservation stands first sends the POST; everyone else finds the job, or that it is being made.
 *
 * Killed at any point it leaves either nothing, or a reservation without an end, which blocks its key until it is
 * reconciled.
 */
class Creation {
  private readonly job: CronJob;
  private readonly parts: GuardParts;
  private readonly key: string;
  private readonly facts: JobFacts;
  private readonly ensure: boolean;

  constructor(job: CronJob, parts: GuardParts, ensure: boolean) {
    this.job = job;
    this.parts = parts;
    this.key = cronKey(parts.origin, job.agent_id, job.name);
    this.facts = factsOf(parts.origin, job);
    this.ensure = ensure;
  }

  async run(dryRun: boolean): Promise<CreateOutcome> {
    for (;;) {
      const settled = await this.settledByFile();
      if (settled === 'wait') {
        await this.parts.clock.sleep(LOOK_AGAIN_MS, this.parts.ended);
        continue;
      }
      if (settled) return settled;
      const found = await this.parts.find(this.job);
      // A job that is listed may be one that another process has reserved and made since the file was read.
      if (found.kind === 'read' && found.same.length > 0 && !(await this.isNew())) continue;
      const listed = found.kind === 'read' ? await this.settledByList(found.same, dryRun) : undefined;
      const outcome = listed ?? (await this.ambiguousInList(found));
      if (outcome) return outcome;
      if (dryRun) return { status: 'planned', key: this.key };
      const reservation = await this.reserve(found);
      if (await this.isOurs(reservation)) return await this.post(reservation);
      await this.append('cron.released', reservation, 'not_first');
    }
  }

  private async history(): Promise<KeyHistory> {
    const { agent_id, name } = this.job;
    return historyOf(await this.parts.ledger.read({ key: this.key, agent_id, name }));
  }

  private async isOpen({ id }: Reserved): Promise<boolean> {
    const { jobs, open } = await this.history();
    return jobs.length === 0 && open.some(({ reservation }) => reservation.id === id);
  }

  /** Whether the file says nothing of the job that still counts. */
  private async isNew(): Promise<boolean> {
    const { jobs, open } = await this.history();
    return jobs.length === 0 && open.length === 0;
  }

  private async settledByFile(): Promise<CreateOutcome | 'wait' | undefined> {
    const { jobs, open } = await this.history();
    const last = jobs.at(-1);
    if (last) return this.exists(jobs.findLast((known) => this.isSame(known)) ?? last);
    const [first] = open;
    if (!first) return undefined;
    const { reservation } = first;
    if (await isOver(first, this.parts)) {
      // Its process may have recorded how it ended after the file was read.
      if (!(await this.isOpen(reservation))) return await this.settledByFile();
      return { status: 'unknown', key: this.key, since: reservation.at };
    }
    if (this.ensure) return 'wait';
    return { status: 'blocked', key: this.key, why: 'in_progress', cron_job_id: null, since: reservation.at };
  }

  private isSame(known: Recorded): boolean {
    return !hasOtherContent(known, this.facts);
  }

  private async exists(known: Recorded): Promise<CreateOutcome> {
    const { cron_job_id, at } = known;
    const facts = { key: this.key, cron_job_id, since: at };
    if (!this.isSame(known)) return { ...facts, status: 'blocked', why: 'different', ...this.differencesTo(known) };
    if (!this.ensure) return { ...facts, status: 'blocked', why: 'same' };
    if (await this.isGone(known)) return { ...facts, status: 'blocked', why: 'gone' };
    return { ...facts, status: 'exists' };
  }

  private differencesTo({ schedule, instructions_hash }: Recorded) {
    const before = { schedule: schedule ?? undefined, instructions_hash: instructions_hash ?? undefined };
    return { differences: findDifferences(before, this.job) };
  }

  /** Whether the service's list, where it can be read, has lost the job. */
  private async isGone({ cron_job_id, at }: Recorded): Promise<boolean> {
    const listedBy = Date.parse(at) + LISTED_WITHIN_MS;
    if (this.parts.clock.now() < listedBy) return false;
    const found = await this.parts.find(this.job);
    // A list may have been read long ago, for another job of the same command.
    if (found.kind === 'closed' || found.at < listedBy) return false;
    // By its id: under another name it is there all the same.
    return found.isListed(cron_job_id) === false;
  }

  /** A job of this agent and name that the file does not know is adopted, not created again. */
  private async settledByList(same: readonly ListedJob[], dryRun: boolean): Promise<CreateOutcome | undefined> {
    const [listed, ...others] = same;
    if (!listed) return undefined;
    const ids = same.map(({ cron_job_id }) => cron_job_id);
    const facts = { key: this.key, cron_job_id: listed.cron_job_id };
    if (others.length > 0) return { ...facts, status: 'blocked', why: 'several', cron_job_id: null, candidates: ids };
    const adopted: Recorded = {
      ...this.head('cron.adopted'),
      ...listedFacts(this.parts.origin, this.job, listed),
      reservation: null,
      cron_job_id: listed.cron_job_id,
    };
    if (!dryRun) await this.parts.ledger.append(adopted);
    if (contentOf(listed, this.job) !== 'different') return { ...facts, status: 'adopted' };
    const before = { schedule: listed.schedule, instructions: listed.instructions };
    return { ...facts, status: 'blocked', why: 'different', differences: findDifferences(before, this.job) };
  }

  /**
   * Where the service does not say whose its jobs are, one of this name and content that the file does not know may be
   * this one, made before the file was lost.
   */
  private async ambiguousInList(found: Found): Promise<CreateOutcome | undefined> {
    if (found.kind === 'closed') return undefined;
    const { name } = this.job;
    const { origin } = this.parts;
    const like = found.maybe.filter((each) => each.name !== undefined && contentOf(each, this.job) !== 'different');
    if (like.length === 0) return undefined;
    const { records } = await this.parts.ledger.readAll();
    const histories = [...historiesOf(records).values()];
    const here = histories.flatMap(({ jobs }) => jobs.filter((job) => job.origin === origin));
    const recorded = new Set(here.map(({ cron_job_id }) => cron_job_id));
    const candidates = like.map(({ cron_job_id }) => cron_job_id).filter((id) => !recorded.has(id));
    // Another agent's job whose answer was lost is there without being recorded, and blocks nobody but itself.
    const reserved = histories.flatMap(({ open }) => open.map(({ reservation }) => reservation));
    const rivals = reserved.filter((other) => other.origin === origin && other.name === name);
    if (candidates.length <= rivals.length) return undefined;
    return { status: 'blocked', key: this.key, why: 'ambiguous', cron_job_id: null, candidates };
  }

  private head<Type extends CronRecord['type']>(type: Type) {
    const { newId, clock } = this.parts;
    return { type, id: newId(), at: new Date(clock.now()).toISOString(), key: this.key };
  }

  private async reserve(found: Found): Promise<Reserved> {
    const { ledger, clock, patienceMs, owner } = this.parts;
    const reservation: Reserved = {
      ...this.head('cron.reserved'),
      ...this.facts,
      owner,
      until: new Date(clock.now() + Math.min(patienceMs(), LONGEST_POST_MS) + MARGIN_MS).toISOString(),
      seen: found.kind === 'read' ? found.maybe.map(({ cron_job_id }) => cron_job_id) : null,
    };
    try {
      await ledger.append(reservation);
      return reservation;
    } catch (error) {
      // It may be in the file, only not for certain on the disk.
      await this.release(reservation, 'not_reserved');
      throw error;
    }
  }

  /** Whether this reservation is the first live one. Once it is, no record but its own can change that. */
  private async isOurs(reservation: Reserved): Promise<boolean> {
    try {
      const { jobs, open } = await this.history();
      const place = open.findIndex((each) => each.reservation.id === reservation.id);
      if (place === -1 && jobs.length === 0) throw notReadBack();
      return place === 0 && jobs.length === 0;
    } catch (error) {
      await this.release(reservation, 'not_read_back');
      throw error;
    }
  }

  private async append(type: Ended['type'], { id: reservation }: Reserved, why: string): Promise<void> {
    await this.parts.ledger.append({ ...this.head(type), reservation, why });
  }

  /** @returns false where it could not be recorded, so that the reservation goes on blocking its key. */
  private async end(...record: Parameters<Creation['append']>): Promise<boolean> {
    try {
      await this.append(...record);
      return true;
    } catch (error) {
      if (error instanceof LocalError) return false;
      throw error;
    }
  }

  private async release(reservation: Reserved, why: string): Promise<boolean> {
    return await this.end('cron.released', reservation, why);
  }

  private async post(reservation: Reserved): Promise<CreateOutcome> {
    const { clock, ledger, post } = this.parts;
    // A machine that slept since then has left its reservation to be settled by others.
    const timeLeft = Date.parse(reservation.until) - MARGIN_MS - clock.now();
    if (timeLeft <= 0) {
      await this.release(reservation, 'too_late');
      throw new LocalError('The time for the command was up before the job was sent.', {
        hint: 'Nothing was sent. Run it again.',
      });
    }
    let cron_job_id: string;
    try {
      cron_job_id = await post(this.job, timeLeft);
    } catch (error) {
      return await this.failed(reservation, error);
    }
    const created: Recorded = {
      ...this.head('cron.created'),
      ...this.facts,
      reservation: reservation.id,
      cron_job_id,
    };
    const done = { status: 'created', key: this.key, cron_job_id } as const;
    try {
      await ledger.append(created);
      return done;
    } catch (error) {
      return { ...done, unrecorded: { error, rescued: await ledger.rescue(created) } };
    }
  }

  private async failed(reservation: Reserved, error: unknown): Promise<CreateOutcome> {
    if (!provesNothingDone(error)) {
      const status = error instanceof PartnerctlError ? error.info.status : undefined;
      await this.end('cron.unknown', reservation, status === undefined ? 'no_answer' : `http_${status}`);
      return { status: 'unknown', key: this.key, since: reservation.at, error };
    }
    const { status } = error.info;
    const isReleased = await this.release(reservation, status === undefined ? 'not_sent' : `http_${status}`);
    return { status: 'failed', key: this.key, error, isReleased };
  }
}

/**
 * Creates a job unless it is there, or may be (spec §4.5).
 * @param ensure whether a job that is there already is what is wanted: one that is being made is waited for
 * @param dryRun whether nothing is to be written, here or there
 * @returns what became of it; a POST that failed with proof is a result, too
 * @throws LocalError when the state file cannot be read or written; nothing was sent then. PartnerctlError when the
 * service could not be asked which jobs there are
 */
export async function createOnce(
  job: CronJob,
  parts: GuardParts,
  { ensure, dryRun }: { readonly ensure: boolean; readonly dryRun: boolean },
): Promise<CreateOutcome> {
  return await new Creation(job, parts, ensure).run(dryRun);
}
