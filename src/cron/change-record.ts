import type { Http } from '../api/http.ts';
import { UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../state/log.ts';
import { adoptJob, forgetJob } from './adopt-forget.ts';
import type { JobIdentity } from './job.ts';
import { AgentFinder } from './job-agent.ts';
import type { JobSelection } from './job-selection.ts';
import type { ListedJob } from './listed-job.ts';
import { findListedJob } from './service-jobs.ts';

/** What changing the record of a job needs of a command. */
export interface RecordContext {
  readonly clock: Clock;
  readonly abortSignal: AbortSignal;
  readonly isInteractive: boolean;
  readonly progress: { start(text: string, limitMs?: number): void; stop(): void };
  http(): Promise<Http>;
  log(): Promise<Log>;
  baseUrl(): Promise<string | undefined>;
  warn(text: string): Promise<void>;
  confirm(question: string): Promise<boolean>;
  command(words: readonly string[]): string;
}

/** Asks before a record is changed. @throws UsageError if the user declines or cannot be asked */
async function confirmChange({ isInteractive, confirm }: RecordContext, question: string): Promise<void> {
  if (!isInteractive) {
    throw new UsageError('Changing the record of a job needs a confirmation.', {
      hint: 'Without a terminal, confirm with --yes.',
    });
  }
  if (await confirm(question)) return;
  throw new UsageError('Nothing was changed.', { hint: 'Run it again and answer y, or pass --yes.' });
}

/** Rejects an id with spaces, because nothing else checks it if the list cannot be read. @throws UsageError */
function checkJobId(typed: string): void {
  if (/^\S+$/.test(typed)) return;
  throw new UsageError(`${JSON.stringify(typed)} is not the id of a job.`, {
    hint: '`partnerctl cron list` shows the ids.',
  });
}

/** Looks a job up by its id. @returns undefined, after a warning, if the list cannot be read at all */
async function fetchListed(context: RecordContext, cronJobId: string): Promise<ListedJob | undefined> {
  context.progress.start('Reading the jobs');
  const access = { http: await context.http(), log: await context.log(), clock: context.clock };
  const found = await findListedJob(access, cronJobId);
  context.progress.stop();
  if ('job' in found) return found.job;
  await context.warn(`cannot check whether the service has ${cronJobId}: ${found.unreadable.message}`);
  return undefined;
}

async function changeDeps(context: RecordContext, yes: boolean) {
  const { clock, abortSignal: signal, progress } = context;
  return {
    log: await context.log(),
    clock,
    signal,
    async confirm(question: string) {
      progress.stop();
      if (!yes) await confirmChange(context, question);
    },
    onWait: (ms: number) => progress.start('Waiting, because another process may still be creating the job', ms),
  };
}

/**
 * Records a job of the service as the selected job. @param yes whether to change the record without asking
 * @throws as `adoptJob`, and UsageError for an invalid id
 */
export async function adopt(context: RecordContext, cronJobId: string, selection: JobSelection, yes: boolean) {
  checkJobId(cronJobId);
  const http = await context.http();
  const deps = {
    ...(await changeDeps(context, yes)),
    origin: http.baseUrl,
    fetchListed: (id: string) => fetchListed(context, id),
    command: context.command,
  };
  if ('key' in selection) return await adoptJob(deps, cronJobId, selection);
  const agent_id = await new AgentFinder(context, http).find(selection);
  return await adoptJob(deps, cronJobId, { agent_id, name: selection.name });
}

/** Calls the service only to look up an agent by name. */
async function findTarget(
  context: RecordContext,
  selection: JobSelection,
): Promise<{ readonly key: string } | JobIdentity> {
  if ('key' in selection) return selection;
  const { agent, name } = selection;
  if (agent.by === 'name') {
    const http = await context.http();
    const agent_id = await new AgentFinder(context, http).find(selection);
    context.progress.stop();
    return { origin: http.baseUrl, agent_id, name };
  }
  const origin = await context.baseUrl();
  if (origin !== undefined) return { origin, agent_id: agent.value, name };
  throw new UsageError('No base URL is configured.', { hint: 'Name the job by its key.' });
}

/** Removes the selected job from the state. @param yes whether to do so without asking @throws as `forgetJob` */
export async function forget(context: RecordContext, selection: JobSelection, yes: boolean) {
  const target = await findTarget(context, selection);
  return await forgetJob(await changeDeps(context, yes), target);
}
