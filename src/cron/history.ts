import type { CronSchedule } from './schedule.ts';

/** What is kept of a job: enough to know it again and to show a difference, but not its instructions. */
export interface JobFacts {
  /** The base address of the service. */
  readonly origin: string;
  readonly agent_id: string;
  readonly name: string;
  /** Null where the service did not say it when the job was adopted. */
  readonly schedule: CronSchedule | null;
  readonly instructions_hash: string | null;
  readonly content_hash: string | null;
}

/** The process that made a reservation. */
export interface Owner {
  /** Opaque; equal for processes that can see each other. */
  readonly machine: string;
  readonly pid: number;
  /** When the process began, as its system counts; null where that is not known. */
  readonly started: string | null;
}

interface Head {
  /** Random, the record's own. */
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  readonly key: string;
}

/** Written before the POST. The first live one of a key owns the key. */
export interface Reserved extends Head, JobFacts {
  readonly type: 'cron.reserved';
  readonly owner: Owner;
  /** ISO 8601: the owner sends nothing after this moment. */
  readonly until: string;
  /** Ids of listed jobs that could be taken for this one; null where the list could not be read. */
  readonly seen: readonly string[] | null;
}

/** A job that is there: made by us, or found at the service. */
export interface Recorded extends Head, JobFacts {
  readonly type: 'cron.created' | 'cron.adopted';
  /** The reservation that it ends, where there is one. */
  readonly reservation: string | null;
  readonly cron_job_id: string;
}

/** How a reservation ended without a job: on proof (`released`), or with an open end (`unknown`). */
export interface Ended extends Head {
  readonly type: 'cron.released' | 'cron.unknown';
  readonly reservation: string;
  /** A short code, never a text of the service. */
  readonly why: string;
}

/** Voids records by hand. It names them, so that merging two copies of the file cannot make it void others. */
export interface Forgotten extends Head {
  readonly type: 'cron.forgotten';
  readonly records: readonly string[];
}

export type CronRecord = Reserved | Recorded | Ended | Forgotten;

export interface OpenReservation {
  readonly reservation: Reserved;
  /** That its outcome is unknown, where that was recorded. */
  readonly unknown: Ended | undefined;
}

/** What the records of one key say, in the file's order. */
export interface KeyHistory {
  /** The jobs that are there, each id once, by their last record; several where one was adopted by hand, or copies of the file were merged. */
  readonly jobs: readonly Recorded[];
  /** Reservations without an end, in order: the first one owns the key unless there is a job. */
  readonly open: readonly OpenReservation[];
}

/**
 * Reads the history of a key. The order of the file is the law; an answered id always counts, whatever else was
 * recorded of its reservation.
 * @param records the sound records of one key, in the order of the file
 */
export function historyOf(records: readonly CronRecord[]): KeyHistory {
  const ended = new Set<string>();
  const voided = new Set<string>();
  const unknown = new Map<string, Ended>();
  for (const record of records) {
    if (record.type === 'cron.forgotten') for (const id of record.records) voided.add(id);
    else if (record.type === 'cron.unknown') unknown.set(record.reservation, record);
    else if (record.type !== 'cron.reserved' && record.reservation !== null) ended.add(record.reservation);
  }
  const jobs = new Map<string, Recorded>();
  const open: OpenReservation[] = [];
  for (const record of records) {
    if (voided.has(record.id)) continue;
    if (record.type === 'cron.created' || record.type === 'cron.adopted') {
      jobs.delete(record.cron_job_id);
      jobs.set(record.cron_job_id, record);
    }
    if (record.type === 'cron.reserved' && !ended.has(record.id)) {
      open.push({ reservation: record, unknown: unknown.get(record.id) });
    }
  }
  return { jobs: [...jobs.values()], open };
}

/** The histories of all keys, by key, in the order in which the file first names them. */
export function historiesOf(records: readonly CronRecord[]): ReadonlyMap<string, KeyHistory> {
  const byKey = new Map<string, CronRecord[]>();
  for (const record of records) {
    const earlier = byKey.get(record.key);
    if (earlier) earlier.push(record);
    else byKey.set(record.key, [record]);
  }
  return new Map([...byKey].map(([key, own]) => [key, historyOf(own)]));
}

/** The ids of jobs that the file has ever recorded of one service: another service may give out the same ones. */
export function recordedIds(records: readonly CronRecord[], origin: string): ReadonlySet<string> {
  const ids = records.flatMap((record) =>
    'cron_job_id' in record && record.origin === origin ? [record.cron_job_id] : [],
  );
  return new Set(ids);
}

/** The ids of the records of one key that may still count for something: what forgetting the key has to void. */
export function liveRecords(records: readonly CronRecord[]): readonly string[] {
  const { open } = historyOf(records);
  const recorded = records.filter(({ type }) => type === 'cron.created' || type === 'cron.adopted');
  return [...recorded.map(({ id }) => id), ...open.map(({ reservation }) => reservation.id)];
}
