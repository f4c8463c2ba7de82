import { command, SERVICE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { shellCommand } from '../../cli/shell-command.ts';
import { confirmChange } from '../../cron/confirm-change.ts';
import { toWireSchedule } from '../../cron/cron-result.ts';
import type { JobData } from '../../cron/jobs.ts';
import type { ListedJob } from '../../cron/listed-job.ts';
import { NotFoundError, UsageError } from '../../errors.ts';
import { type Column, objectResult } from '../../output/command-result.ts';
import { JOB_SELECTION_FLAGS, type JobSelection, parseJobSelection } from './shared/job-selection.ts';

interface Input {
  readonly cron_job_id: string;
  readonly selection: JobSelection;
  readonly yes: boolean;
}

interface Adopted {
  readonly key: string;
  readonly cron_job_id: string;
  readonly data: JobData;
}

const COLUMNS: readonly Column<Adopted>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id },
  { header: 'STATUS', value: () => 'adopted', tone: () => 'good' },
  { header: 'AGENT', value: ({ data }) => data.agent_id },
  { header: 'NAME', value: ({ data }) => data.name },
  { header: 'KEY', value: ({ key }) => key, isOptional: true, tone: () => 'dim' },
];

/** Rejects an empty shell variable, because nothing else checks the id if the list cannot be read. @throws UsageError */
function parseJobId(typed = ''): string {
  if (/^\S+$/.test(typed)) return typed;
  throw new UsageError(`${JSON.stringify(typed)} is not the id of a job.`, {
    hint: '`partnerctl cron list` shows the ids.',
  });
}

/** Looks a job up by its id. @returns undefined, after a warning, if the list cannot be read at all */
async function fetchListed(context: Context, cronJobId: string): Promise<ListedJob | undefined> {
  const { findListedJob } = await import('../../cron/find-listed-job.ts');
  context.progress.start('Reading the jobs');
  const found = await findListedJob(await context.http(), cronJobId);
  context.progress.stop();
  if (found.kind === 'listed') return found.job;
  if (found.kind === 'unreadable') {
    await context.warn(`cannot check whether the service has ${cronJobId}: ${found.reason.message}`);
    return undefined;
  }
  throw new NotFoundError(`The service does not list a job ${cronJobId}.`, {
    hint: 'Nothing was changed. partnerctl cron list shows the jobs that the service has.',
  });
}

async function adopt(context: Context, { cron_job_id, selection, yes }: Input): Promise<Adopted> {
  const [{ adoptJob }, { AgentFinder }] = await Promise.all([
    import('../../cron/adopt-forget.ts'),
    import('./shared/job-agent.ts'),
  ]);
  const { clock, abortSignal: signal, flags, progress } = context;
  const http = await context.http();
  const deps = {
    origin: http.baseUrl,
    log: await context.log(),
    clock,
    signal,
    fetchListed: (id: string) => fetchListed(context, id),
    confirm: async (question: string) => {
      progress.stop();
      if (!yes) await confirmChange(context, question);
    },
    onWait: (ms: number) => progress.start('Waiting, because another process may still be creating the job', ms),
    command: (words: readonly string[]) => shellCommand(words, flags),
  };
  if ('key' in selection) return await adoptJob(deps, cron_job_id, selection);
  const agent_id = await new AgentFinder(context, http).find(selection);
  return await adoptJob(deps, cron_job_id, { agent_id, name: selection.name });
}

export default command<Input>({
  description:
    'Records a job of the service in the state, as the job with this agent and name, so that it is not created again. Does not change the service.',
  args: [{ usage: '<cron_job_id>', description: 'the id of the job at the service' }],
  flags: [
    { usage: '--key <key>', description: 'the key of the job in the state' },
    ...JOB_SELECTION_FLAGS,
    { usage: '--yes', description: 'do not ask' },
  ],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/cron.ts')).CRON_ADOPT,
  exits: [...SERVICE_EXITS, 'duplicate'],
  examples: [
    {
      line: 'partnerctl cron adopt cron_1 --key 4a51c2d9e0b37f6688a1d2c4',
      does: 'resolve an unknown outcome',
    },
    { line: 'partnerctl cron adopt cron_1 --agent agt_1 --name daily --yes', does: 'without a prompt, for a script' },
  ],
  parse: (args) => ({
    cron_job_id: parseJobId(args.positionals[0]),
    selection: parseJobSelection(args, args.value('key')),
    yes: args.isSet('yes'),
  }),
  async run(context, input) {
    const adopted = await adopt(context, input);
    const { key, cron_job_id, data } = adopted;
    const { agent_id, name, schedule } = data;
    const wire = schedule && toWireSchedule(schedule);
    return {
      ...objectResult(adopted, COLUMNS),
      json: { cron_job_id, status: 'adopted', agent_id, name, schedule: wire, key },
    };
  },
});
