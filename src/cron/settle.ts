import type { Http } from '../api/http.ts';
import { commandLine } from '../command-line.ts';
import type { Context } from '../context.ts';
import type { Recorded } from '../domain/cron/ledger.ts';
import { amplified, type PartnerctlError } from '../errors.ts';
import { hasEnded } from '../state/owner.ts';
import { randomRecordId } from '../state/record.ts';
import { leftRecords, removeLeft } from '../state/recovery.ts';
import { isOver } from './create-once.ts';
import { openLedger } from './ledger.ts';
import {
  type OpenJob,
  openJobs,
  type ReconcileParts,
  reconcileOne,
  type Settled,
  underWay,
  waitForGrace,
} from './reconcile.ts';
import { openServiceJobs } from './service-jobs.ts';

export interface SettleOptions {
  /** Only this key. */
  readonly key: string | undefined;
  readonly assumeNotCreated: boolean;
  readonly graceMs: number;
}

/** Appends to the state file what a command could not append when it created a job. */
export async function takeUpLeftRecords(context: Context): Promise<readonly Recorded[]> {
  const path = await context.statePath();
  const ledger = await openLedger(context);
  const taken: Recorded[] = [];
  for (const left of await leftRecords(path)) {
    if (left.record.type !== 'cron.created') continue;
    await ledger.append(left.record);
    await removeLeft(left);
    taken.push(left.record);
  }
  return taken;
}

/** The service's list is all that reconciling goes by. */
async function refuseWithoutList({ flags }: Context, error: PartnerctlError): Promise<never> {
  const settle = commandLine(['cron', 'adopt', '<cron_job_id>', '--key', '<key>'], flags);
  const free = commandLine(['cron', 'forget', '<key>'], flags);
  throw amplified(error, {
    hint: `Without the service's list nothing can be reconciled. What you know otherwise can be said by hand: ${settle} or ${free}`,
    details: {},
  });
}

function isSettled({ status }: Settled): boolean {
  return status === 'adopted' || status === 'released';
}

/** Whether a person may say that it was not created: nothing that could be it is there, nor will appear. */
function isMissing({ status, candidates, settlesAt }: Settled): boolean {
  return status === 'unknown' && candidates.length === 0 && settlesAt === null;
}

async function saysNotCreated(context: Context, { reservation }: Settled): Promise<boolean> {
  const { name, agent_id, at } = reservation;
  return await context.confirm(
    `The job ${JSON.stringify(name)} of the agent ${agent_id} (reserved ${at}) is not listed. Take it as not created?`,
  );
}

/**
 * Notes of each reservation whose process ended without a word that its outcome is unknown: when that process sent its
 * request nobody knows, so the time of grace begins now.
 * @returns the ids of the reservations of which nothing more can come
 */
async function noteThoseThatAreOver(jobs: readonly OpenJob[], parts: ReconcileParts): Promise<ReadonlySet<string>> {
  const over = new Set<string>();
  for (const job of jobs) {
    if (!(await isOver(job, parts))) continue;
    const { id: reservation, key } = job.reservation;
    over.add(reservation);
    if (job.unknown !== undefined) continue;
    const head = { id: parts.newId(), at: new Date(parts.clock.now()).toISOString(), key };
    await parts.ledger.append({ ...head, type: 'cron.unknown', reservation, why: 'owner_ended' });
  }
  return over;
}

/**
 * One round over the jobs, with one look at the list.
 * @param over the reservations that were over before that look: of another one, the list may be older than its last work
 */
async function round(
  context: Context,
  http: Http,
  jobs: readonly OpenJob[],
  over: ReadonlySet<string>,
  parts: ReconcileParts,
  assume: boolean,
): Promise<Settled[]> {
  const wanted = jobs.map(({ reservation }) => reservation);
  const service = openServiceJobs(http, wanted, (error) => refuseWithoutList(context, error));
  const known = new Set(jobs.flatMap((job) => [...job.known]));
  const settled: Settled[] = [];
  for (const job of jobs) {
    const { reservation } = job;
    const one = over.has(reservation.id)
      ? await reconcileOne({ ...job, known }, await service.find(reservation), parts, assume)
      : underWay(reservation);
    if (one.cron_job_id !== null) known.add(one.cron_job_id);
    settled.push(one);
  }
  return settled;
}

/**
 * Settles the reservations whose outcome is not known, by the service's list.
 * @returns what became of each; those that stay open are `unknown` or `under_way`
 * @throws PartnerctlError when the list cannot be read; LocalError when the state file cannot be written
 */
export async function settle(context: Context, http: Http, options: SettleOptions): Promise<readonly Settled[]> {
  const { clock, ended, progress } = context;
  const ledger = await openLedger(context);
  const origin = http.baseUrl;
  const parts = { ledger, clock, newId: randomRecordId, hasEnded, origin, graceMs: options.graceMs };
  const over = await noteThoseThatAreOver(await openOnes(), parts);
  // Read again: what those processes did until they were seen to have ended is in the file now, or will be in the list.
  const jobs = await openOnes();
  if (jobs.length === 0) return [];
  const mayAssume = options.assumeNotCreated || context.interactive;
  let settled = await round(context, http, jobs, over, parts, options.assumeNotCreated);
  if (mayAssume && settled.some(({ settlesAt }) => settlesAt !== null)) {
    progress.update('Waiting, in case the service lists it a little later');
    await waitForGrace(settled, clock, ended);
    settled = await again(settled, options.assumeNotCreated);
  }
  if (!options.assumeNotCreated && context.interactive) {
    const missing = settled.filter(isMissing);
    const notCreated = new Set<Settled>();
    for (const each of missing) if (await saysNotCreated(context, each)) notCreated.add(each);
    settled = await again(settled, true, notCreated);
  }
  return settled;

  async function openOnes(): Promise<readonly OpenJob[]> {
    const { records } = await ledger.readAll();
    return openJobs(records, origin).filter(
      ({ reservation }) => options.key === undefined || reservation.key === options.key,
    );
  }

  /** Another round over those that are open still. */
  async function again(before: readonly Settled[], assume: boolean, only?: ReadonlySet<Settled>): Promise<Settled[]> {
    const isOpen = (each: Settled) => !isSettled(each) && (only === undefined || only.has(each));
    const open = new Set(before.filter(isOpen).map(({ reservation }) => reservation.id));
    const rest = jobs.filter(({ reservation }) => open.has(reservation.id));
    if (rest.length === 0) return [...before];
    const later = await round(context, http, rest, over, parts, assume);
    const byId = new Map(later.map((each) => [each.reservation.id, each]));
    return before.map((each) => byId.get(each.reservation.id) ?? each);
  }
}
