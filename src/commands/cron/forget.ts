import { command, STATE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { confirmChange } from '../../cron/confirm-change.ts';
import type { JobIdentity } from '../../cron/job.ts';
import { UsageError } from '../../errors.ts';
import { objectResult } from '../../output/command-result.ts';
import { JOB_SELECTION_FLAGS, type JobSelection, parseJobSelection } from './shared/job-selection.ts';

interface Input {
  readonly selection: JobSelection;
  readonly yes: boolean;
}

/** Calls the service only to look up an agent by name. */
async function findTarget(context: Context, selection: JobSelection): Promise<{ readonly key: string } | JobIdentity> {
  if ('key' in selection) return selection;
  const { agent, name } = selection;
  if (agent.by === 'name') {
    const { AgentFinder } = await import('./shared/job-agent.ts');
    const http = await context.http();
    const agent_id = await new AgentFinder(context, http).find(selection);
    context.progress.stop();
    return { origin: http.baseUrl, agent_id, name };
  }
  const origin = await context.baseUrl();
  if (origin !== undefined) return { origin, agent_id: agent.value, name };
  throw new UsageError('No base URL is configured.', { hint: 'Name the job by its key.' });
}

export default command<Input>({
  description:
    'Removes a job from the state, so that a job with its agent and name can be created again. Does not remove it from the service: if the list can be read, the next create finds and adopts it.',
  args: [{ usage: '[key]', description: 'the cron_job_id of the job, or its key in the state' }],
  flags: [...JOB_SELECTION_FLAGS, { usage: '--yes', description: 'do not ask' }],
  output: async () => (await import('../../output-schemas/cron.ts')).CRON_FORGET,
  exits: [...STATE_EXITS, 'notFound'],
  examples: [
    { line: 'partnerctl cron forget cron_2136f0a4', does: 'forget a job that was removed from the service' },
    { line: 'partnerctl cron forget --agent agt_1 --name daily --yes', does: 'without a prompt, for a script' },
  ],
  parse: (args) => ({ selection: parseJobSelection(args, args.positionals[0]), yes: args.isSet('yes') }),
  async run(context, { selection, yes }) {
    const { forgetJob } = await import('../../cron/adopt-forget.ts');
    const { clock, abortSignal: signal, progress } = context;
    const target = await findTarget(context, selection);
    const deps = {
      log: await context.log(),
      clock,
      signal,
      confirm: async (question: string) => {
        progress.stop();
        if (!yes) await confirmChange(context, question);
      },
      onWait: (ms: number) => progress.start('Waiting, because another process may still be creating the job', ms),
    };
    const { key, job } = await forgetJob(deps, target);
    const json = { status: 'forgotten', key, agent_id: job.agent_id, name: job.name };
    return objectResult(json, [
      { header: 'KEY', value: ({ key }) => key },
      { header: 'STATUS', value: ({ status }) => status },
      { header: 'AGENT', value: ({ agent_id }) => agent_id },
      { header: 'NAME', value: ({ name }) => name },
    ]);
  },
});
