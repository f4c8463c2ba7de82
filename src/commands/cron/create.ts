import { Option } from '@commander-js/extra-typings';
import type { Context } from '../../cli/context.ts';
import { leaf, run, SERVICE_EXITS } from '../../cli/leaf.ts';
import { AGENT_HELP, collect, confirmOption, SPACE_HELP, summaryFileOption, summaryOption } from '../../cli/options.ts';
import { SCOPE } from '../../contract/scopes.ts';
import type { WantedJob } from '../../cron/create.ts';
import type { CronResult } from '../../cron/create-wanted.ts';
import type { parseJobOptions } from '../../cron/job-flags.ts';
import { InputError, UsageError } from '../../errors.ts';
import { batchResult, failureOfBatch } from '../../output/batch-result.ts';
import { type CommandResult, objectResult } from '../../output/command-result.ts';
import { JOB_COLUMNS, JOBS } from './shared/job-batch.ts';

/** The job that the options describe. @throws InputError, UsageError; NotFoundError if its agent is not found */
async function readJob(
  context: Context,
  { agent, space, ...job }: ReturnType<typeof parseJobOptions>,
  instructions: string,
): Promise<readonly WantedJob[]> {
  const { parseTextArgument, readText } = await import('../../cli/input.ts');
  const { findAgent } = await import('../../cron/job-flags.ts');
  const text = await readText(context, parseTextArgument(instructions), 'instructions');
  if (text.trim() === '') {
    throw new InputError('--instructions is blank.', {
      hint: 'Nothing was sent. Describe what the agent does on each run.',
    });
  }
  const agent_id = await findAgent(context, { agent, space });
  return [{ index: 0, source: undefined, job: { ...job, agent_id, instructions: text } }];
}

/** The jobs that files describe. @throws InputError that shows every mistake */
async function readFiles(context: Context, files: readonly string[]): Promise<readonly WantedJob[]> {
  const { refuseTokenOnStdin } = await import('../../cli/input.ts');
  const { readJobFiles } = await import('../../cron/job-file.ts');
  if (files.includes('-')) refuseTokenOnStdin(context.flags, 'jobs');
  return await readJobFiles(context, files);
}

/** Creates the jobs, and yields the results as they come. */
async function* createAll(
  context: Context,
  wanted: readonly WantedJob[],
  options: { readonly ensure: boolean; readonly dryRun: boolean },
): AsyncGenerator<CronResult> {
  const { openJobs } = await import('../../cron/create-wanted.ts');
  const { progress } = context;
  progress.start(wanted.length === 1 ? 'Creating the job' : 'Creating the jobs');
  const jobs = openJobs(context, await context.http(), await context.log(), options);
  let count = 0;
  for await (const result of jobs.create(wanted)) {
    count += 1;
    if (wanted.length > 1) progress.update(`Creating the jobs: ${count} of ${wanted.length}`);
    yield result;
  }
}

/** The result of one job: an object. @throws the error of a job that was not sent */
async function toOneResult(results: AsyncIterable<CronResult>, { signals }: Context): Promise<CommandResult> {
  let result: CronResult | undefined;
  for await (const each of results) result = each;
  const failure = result && failureOfBatch([result], JOBS, signals.interrupt);
  if (!result || (failure && ['failed', 'skipped'].includes(result.status))) throw failure;
  return { ...objectResult(result, JOB_COLUMNS), json: JOBS.json(result), failure };
}

const UNLESS_FILE = { unless: ['--file', '--schema'], hint: 'To read the jobs from a file instead: -f jobs.yaml' };

export const create = () =>
  leaf('create', 'Create scheduled jobs, each at most once', {
    description:
      'Creates scheduled jobs for agents, each at most once: a job that exists or may exist, according to the state or the service, is not created again.',
    required: [
      ...['--agent', '--name', '--instructions'].map((option) => ({ oneOf: [option], ...UNLESS_FILE })),
      { oneOf: ['--schedule'], unless: UNLESS_FILE.unless, hint: "For example: --schedule '0 9 * * 1-5'" },
    ],
    scopes: [SCOPE.createJobs, SCOPE.listJobs, SCOPE.readSpaces, SCOPE.readAgents],
    exits: [...SERVICE_EXITS, 'duplicate', 'unknown', 'partial'],
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
    .option('--dry-run', 'show what would be done; nothing is written')
    .option('--schema', 'print the JSON Schema of a file for -f')
    .addOption(summaryOption())
    .addOption(summaryFileOption())
    .addOption(confirmOption())
    .action(
      run(async (context, { file: files, ensure = false, dryRun = false, schema, confirm, ...options }) => {
        if (schema) {
          const { cronJobsJsonSchema } = await import('../../cron/job-file.ts');
          return { kind: 'text', text: `${JSON.stringify(cronJobsJsonSchema(), null, 2)}\n` };
        }
        const { instructions = '', summary, summaryFile, ...job } = options;
        const isBatch = files.length > 0;
        if (!isBatch && (summary || summaryFile !== undefined)) {
          throw new UsageError('--summary and --summary-file can only be used with -f.');
        }
        const parsed = isBatch ? undefined : (await import('../../cron/job-flags.ts')).parseJobOptions(job);
        if (!dryRun) await context.confirmWrite(confirm);
        const wanted = parsed ? await readJob(context, parsed, instructions) : await readFiles(context, files);
        const results = createAll(context, wanted, { ensure, dryRun });
        if (!isBatch) return await toOneResult(results, context);
        return batchResult(results, JOBS, context.signals);
      }),
    );
