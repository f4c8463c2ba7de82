import { command, SERVICE_EXITS } from '../../cli/command.ts';
import { toWireSchedule } from '../../cron/cron-result.ts';
import type { RecordedJob } from '../../cron-old/job-records.ts';
import { JOB_SELECTION_FLAGS, type JobSelection, parseJobSelection } from '../../cron/job-selection.ts';
import { UsageError } from '../../errors.ts';
import { type Column, objectResult } from '../../output/command-result.ts';

interface Input {
  readonly cron_job_id: string;
  readonly selection: JobSelection;
  readonly yes: boolean;
}

const COLUMNS: readonly Column<RecordedJob>[] = [
  { header: 'JOB', value: ({ remoteId }) => remoteId, fit: 'middle' },
  { header: 'STATUS', value: () => 'adopted', tone: () => 'good' },
  { header: 'AGENT', value: ({ snapshot }) => snapshot.agent_id, fit: 'middle' },
  { header: 'NAME', value: ({ snapshot }) => snapshot.name },
  { header: 'KEY', value: ({ key }) => key, fit: 'middle', isOptional: true, tone: () => 'dim' },
];

/** Rejects an empty shell variable, because nothing else checks the id if the list cannot be read. @throws UsageError */
function parseJobId(typed = ''): string {
  if (/^\S+$/.test(typed)) return typed;
  throw new UsageError(`${JSON.stringify(typed)} is not the id of a job.`, {
    hint: '`partnerctl cron list` shows the ids.',
  });
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
  async run(context, { cron_job_id, selection, yes }) {
    const { adopt } = await import('../../cron-old/adopt-forget.ts');
    const adopted = await adopt(context, cron_job_id, selection, yes);
    const { agent_id, name, schedule } = adopted.snapshot;
    const { key } = adopted;
    const json = {
      cron_job_id,
      status: 'adopted',
      agent_id,
      name,
      schedule: schedule && toWireSchedule(schedule),
      key,
    };
    return { ...objectResult(adopted, COLUMNS), json };
  },
});
