import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import { DuplicateError, InputError, NotFoundError, UsageError } from '../errors.ts';
import { hasEnded } from '../state/owner.ts';
import { randomRecordId } from '../state/record.ts';
import { AgentFinder } from './agents.ts';
import { listedFacts } from './facts.ts';
import { type CronRecord, type Forgotten, historiesOf, type JobFacts, liveRecords, type Recorded } from './history.ts';
import { cronKey } from './job.ts';
import { type OpenedLedger, openLedger } from './ledger.ts';
import { couldBe, type ListedJob } from './matching.ts';
import { isOver } from './reservation.ts';
import { jobOfKey, type SelectedJob, type Selection, unknownKey } from './selection.ts';
import { findListed, isClosed } from './service-jobs.ts';

/** Asks for the yes that changing the record by hand needs. @throws UsageError where it can neither be asked nor was given */
async function demandYes(context: Context, yes: boolean, question: string): Promise<void> {
  if (yes) return;
  if (!context.isInteractive) {
    throw new UsageError('This changes by hand what guards a job, so it needs a yes.', {
      hint: 'Without a terminal, say it with --yes.',
    });
  }
  if (await context.confirm(question)) return;
  throw new UsageError('Nothing was changed.', { hint: 'Run it again and answer y, or give --yes.' });
}

/** A job that is being created this moment is left alone: its process would not learn of the change. */
async function refuseWhileUnderWay(context: Context, { history, key }: SelectedJob): Promise<void> {
  for (const open of history.open) {
    if (await isOver(open, { clock: context.clock, hasEnded })) continue;
    throw new DuplicateError('The job is being created by another process at this moment.', {
      why: `It reserved the job at ${open.reservation.at}.`,
      hint: 'Wait until it is done.',
      details: { key },
    });
  }
}

/** What was agreed to holds for what the file said then: a process may have ended meanwhile, and said how. */
async function refuseIfChanged(ledger: OpenedLedger, { key, records }: SelectedJob): Promise<void> {
  const now = jobOfKey((await ledger.readAll()).records, key);
  if (now.records.length === records.length) return;
  throw new DuplicateError('What the state file says of the job has changed meanwhile.', {
    hint: 'Nothing was changed. Look at it again: `partnerctl cron list`.',
    details: { key },
  });
}

interface Stamped {
  readonly id: string;
  readonly at: string;
}

function stamp({ clock }: Context): Stamped {
  return { id: randomRecordId(), at: new Date(clock.now()).toISOString() };
}

interface Target {
  readonly selected: SelectedJob;
  readonly records: readonly CronRecord[];
  readonly agent_id: string;
  readonly name: string;
}

async function targetOf(context: Context, http: Http, selection: Selection): Promise<Target> {
  const { records } = await (await openLedger(context)).readAll();
  if ('key' in selection) {
    const selected = jobOfKey(records, selection.key);
    if (!selected.facts || selected.facts.origin !== http.baseUrl) throw unknownKey(selection.key);
    return { selected, records, agent_id: selected.facts.agent_id, name: selected.facts.name };
  }
  const agent_id = await new AgentFinder(http).find(selection);
  const { name } = selection;
  return { selected: jobOfKey(records, cronKey(http.baseUrl, agent_id, name)), records, agent_id, name };
}

/**
 * The job as the service lists it; undefined where it has no list that can be read.
 * @throws NotFoundError when it is not listed; PartnerctlError where the list could be read another time
 */
async function listedOf(context: Context, http: Http, cronJobId: string): Promise<ListedJob | undefined> {
  try {
    const listed = await findListed(http, cronJobId);
    if (listed) return listed;
  } catch (error) {
    if (!isClosed(error)) throw error;
    await context.warn(`whether the service has ${cronJobId} cannot be checked: ${error.message}`);
    return undefined;
  }
  throw new NotFoundError(`The service does not list a job ${cronJobId}.`, {
    hint: '`partnerctl cron list` shows those that it has. Nothing was changed.',
  });
}

function refuseOther({ agent_id, name }: Target, listed: ListedJob): void {
  if (couldBe(listed, agent_id, name) !== 'no') return;
  throw new InputError(`${listed.cron_job_id} is another job.`, {
    why: `It is ${JSON.stringify(listed.name ?? '')} of the agent ${listed.agent_id ?? ''}, not ${JSON.stringify(name)} of ${agent_id}.`,
    hint: 'Nothing was changed.',
  });
}

/** Where the service does not say whose a job is, what the file says of it counts. */
function refuseRecordedOtherwise({ flags }: Context, target: Target, origin: string, cronJobId: string): void {
  const { key } = target.selected;
  const jobs = [...historiesOf(target.records).values()].flatMap((history) => history.jobs);
  const other = jobs.find((job) => job.cron_job_id === cronJobId && job.origin === origin && job.key !== key);
  if (!other) return;
  throw new InputError(`${cronJobId} is another job.`, {
    why: `The state file knows it as ${JSON.stringify(other.name)} of the agent ${other.agent_id}.`,
    hint: `Nothing was changed. Where that is wrong, first: ${shellCommand(['cron', 'forget', other.key], flags)}`,
  });
}

/** What is known of the content: from the service, or else from the reservation that is said to have made the job. */
function contentOf(target: Target, origin: string, listed: ListedJob | undefined): JobFacts {
  const said = listed && listedFacts(origin, target, listed);
  const reserved = target.selected.history.open[0]?.reservation;
  const { schedule, instructions_hash, content_hash } = (said?.content_hash ? said : (reserved ?? said)) ?? {
    schedule: null,
    instructions_hash: null,
    content_hash: null,
  };
  return { origin, agent_id: target.agent_id, name: target.name, schedule, instructions_hash, content_hash };
}

/**
 * Records that a job of the service is the one of an agent and name.
 * @throws NotFoundError, InputError, UsageError where it cannot be, or was not agreed to; LocalError when the state file
 * cannot be written
 */
export async function adopt(
  context: Context,
  http: Http,
  cron_job_id: string,
  selection: Selection,
  yes: boolean,
): Promise<Recorded> {
  const target = await targetOf(context, http, selection);
  const ledger = await openLedger(context);
  await refuseWhileUnderWay(context, target.selected);
  const listed = await listedOf(context, http, cron_job_id);
  if (listed) refuseOther(target, listed);
  if (listed?.agent_id === undefined || listed.name === undefined) {
    refuseRecordedOtherwise(context, target, http.baseUrl, cron_job_id);
  }
  const question = `Record ${cron_job_id} as the job ${JSON.stringify(target.name)} of the agent ${target.agent_id}?`;
  await demandYes(context, yes, question);
  await refuseIfChanged(ledger, target.selected);
  const adopted: Recorded = {
    type: 'cron.adopted',
    ...stamp(context),
    key: target.selected.key,
    ...contentOf(target, http.baseUrl, listed),
    reservation: target.selected.history.open[0]?.reservation.id ?? null,
    cron_job_id,
  };
  await ledger.append(adopted);
  return adopted;
}

async function keyFor(context: Context, selection: Selection): Promise<string> {
  if ('key' in selection) return selection.key;
  if (selection.agent.by === 'name') {
    const http = await context.http();
    return cronKey(http.baseUrl, await new AgentFinder(http).find(selection), selection.name);
  }
  const origin = await context.baseUrl();
  if (origin === undefined)
    throw new UsageError('No base address is configured.', { hint: 'Name the job by its key.' });
  return cronKey(origin, selection.agent.value, selection.name);
}

/**
 * Makes the state file forget a job, so that it can be created again. The service is not asked, and its job stays.
 * @throws NotFoundError when the file knows nothing of it; UsageError where it was not agreed to; LocalError when the file
 * cannot be written
 */
export async function forget(
  context: Context,
  selection: Selection,
  yes: boolean,
): Promise<{ readonly forgotten: Forgotten; readonly facts: JobFacts }> {
  const ledger = await openLedger(context);
  const key = await keyFor(context, selection);
  const selected = jobOfKey((await ledger.readAll()).records, key);
  const { facts, history, records } = selected;
  if (!facts || history.jobs.length + history.open.length === 0) throw unknownKey(key);
  await refuseWhileUnderWay(context, selected);
  const ids = history.jobs.map(({ cron_job_id }) => cron_job_id).join(', ') || 'no id known';
  const question = `Forget the job ${JSON.stringify(facts.name)} of the agent ${facts.agent_id} (${ids})? It can be created again then.`;
  await demandYes(context, yes, question);
  await refuseIfChanged(ledger, selected);
  const forgotten: Forgotten = { type: 'cron.forgotten', ...stamp(context), key, records: liveRecords(records) };
  await ledger.append(forgotten);
  return { forgotten, facts };
}
