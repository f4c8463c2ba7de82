import { command, STATE_EXITS } from '../../cli/command.ts';
import { JOB_SELECTION_FLAGS, type JobSelection, parseJobSelection } from '../../cron/job-selection.ts';
import { objectResult } from '../../output/command-result.ts';

interface Input {
  readonly selection: JobSelection;
  readonly yes: boolean;
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
    const { forget } = await import('../../cron-old/adopt-forget.ts');
    const { forgotten, job } = await forget(context, selection, yes);
    const json = { status: 'forgotten', key: forgotten.key, agent_id: job?.agent_id ?? null, name: job?.name ?? null };
    return objectResult(json, [
      { header: 'KEY', value: ({ key }) => key, fit: 'middle' },
      { header: 'STATUS', value: ({ status }) => status },
      { header: 'AGENT', value: ({ agent_id }) => agent_id, fit: 'middle' },
      { header: 'NAME', value: ({ name }) => name },
    ]);
  },
});
