import { Option } from '@commander-js/extra-typings';
import { deferred, defineCommand, fieldsOf } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { AGENT_HELP, CONFIRM, collect, SPACE_HELP, SUMMARY_FILE } from '../../cli/options.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import type { WantedJob } from '../../cron/ensure-jobs.ts';
import type { JobOptions } from '../../cron/job-flags.ts';
import { InputError } from '../../errors.ts';
import { batchResult } from '../../output/batch-result.ts';
import type { cronResultJson } from './shared/job-batch.ts';

/** Called once the input is valid, before the service is asked for the agents that are given by name. */
type Confirm = () => Promise<void>;

async function readJob(context: Context, instructions: string, options: JobOptions, confirm: Confirm) {
  const { parseTextArgument, readText } = await import('../../cli/input.ts');
  const { agentName, findAgent, parseJobOptions } = await import('../../cron/job-flags.ts');
  const { agent, space, ...job } = parseJobOptions(options);
  const text = await readText(context, parseTextArgument(instructions), 'instructions');
  if (text.trim() === '') {
    const hint = 'Nothing was sent. Describe what the agent does on each run.';
    throw new InputError('--instructions is blank.', { hint });
  }
  await confirm();
  const agent_id = await findAgent(context, { agent, space });
  const wanted: WantedJob = {
    index: 0,
    source: undefined,
    agent: agentName({ agent, space }),
    job: { ...job, agent_id, instructions: text },
  };
  return { wanted: [wanted], isNamed: undefined };
}

async function readFiles(context: Context, files: readonly string[], confirm: Confirm) {
  const { readJobFiles } = await import('../../cron/job-file.ts');
  const { namedIn } = await import('../../cron/ensure-jobs.ts');
  const wanted = await readJobFiles(context, files, confirm);
  return { wanted, isNamed: namedIn(wanted) };
}

const UNLESS_FILE = { unless: ['--file', '--schema'], hint: 'To read the jobs from a file instead: -f jobs.yaml' };

export const create = () =>
  defineCommand('create', 'Create scheduled jobs, each at most once', {
    description: 'A job that exists or may exist, according to the state or the service, is not created again.',
    required: [
      { oneOf: ['--file'], when: ['--summary-file'] },
      ...['--agent', '--name', '--instructions'].map((option) => ({ oneOf: [option], ...UNLESS_FILE })),
      { oneOf: ['--schedule'], unless: UNLESS_FILE.unless, hint: "For example: --schedule '0 9 * * 1-5'" },
    ],
    scopes: [
      OPERATIONS.createCronJob.scope,
      OPERATIONS.listCronJobs.scope,
      OPERATIONS.listSpaces.scope,
      OPERATIONS.listAgents.scope,
    ],
    exits: ['duplicate', 'unknown', 'partial'],
    json: fieldsOf<ReturnType<typeof cronResultJson>>()(
      'source?, cron_job_id, status, agent_id, name, schedule, in_words, key, next_runs, differences?, error',
    ),
    examples: [
      "partnerctl cron create --agent agt_1 --name daily --instructions 'Sum up the day.' --schedule '0 18 * * 1-5' --timezone Europe/Berlin  # weekdays at 18:00",
      "partnerctl cron create --agent name:Support --space ext:acme-001 --name weekly --instructions @weekly.md --schedule '0 9 * * mon' --ensure  # safe to run on every deployment",
      'partnerctl cron create -f jobs.yaml --ensure -o json  # create the missing jobs, for a script',
    ],
  })
    .option('--agent <agent>', AGENT_HELP)
    .option('--space <space>', SPACE_HELP)
    .option('--name <name>', 'the name of the job, unique per agent')
    .option('--instructions <text>', 'what the agent does on each run; @file reads a file, - standard input')
    .option('--schedule <expression>', "a cron expression without days of the month: '0 9 * * 1-5'")
    .option('--timezone <zone>', 'an IANA name such as Europe/Berlin; UTC by default')
    .addOption(
      new Option('-f, --file <path>', 'a YAML file of jobs, a directory, or - for standard input; repeatable')
        .default<string[]>([])
        .argParser(collect)
        .conflicts(['agent', 'space', 'name', 'instructions', 'schedule', 'timezone']),
    )
    .option('--ensure', 'succeed if the job already exists with the same content; wait if it is being created')
    .option('--create-beside', 'create a job although one that looks like it, under another name, exists')
    .option('--dry-run', 'show what would be done; nothing is written')
    .option('--schema', 'print the JSON Schema of a file for -f')
    .option(...SUMMARY_FILE)
    .option(...CONFIRM)
    .action(
      deferred(async (context, { file: files, schema, confirm, ...given }) => {
        const { instructions = '', ensure = false, dryRun = false, createBeside = false, ...options } = given;
        if (schema) {
          const { cronJobsJsonSchema } = await import('../../cron/job-file.ts');
          return { kind: 'text', text: `${JSON.stringify(cronJobsJsonSchema(), null, 2)}\n` };
        }
        const confirmWrite = async () => (dryRun ? undefined : context.prompts.confirmWrite(confirm));
        const { wanted, isNamed } =
          files.length === 0
            ? await readJob(context, instructions, options, confirmWrite)
            : await readFiles(context, files, confirmWrite);
        const { openJobs } = await import('../../cron/ensure-jobs.ts');
        const { JOB_BATCH, toOneResult } = await import('./shared/job-batch.ts');
        const { progress, signals } = context;
        progress.start('Creating jobs');
        const jobs = openJobs(context, await context.http(), await context.log());
        const results = jobs.create(wanted, { ensure, dryRun, createBeside, isNamed });
        const onResult = (done: number) => progress.update(`Creating jobs: ${done} of ${wanted.length}`);
        if (files.length === 0) return await toOneResult(results, signals);
        return batchResult(results, JOB_BATCH, signals, onResult);
      }),
    );
