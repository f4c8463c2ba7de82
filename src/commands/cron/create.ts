import type { Http } from '../../api/http.ts';
import { agentFlags } from '../../cli/agent-args.ts';
import { command, SERVICE_EXITS, SUMMARY_FLAG } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { warnIfUnshared } from '../../cli/warn-unshared.ts';
import { SCOPE } from '../../contract/scopes.ts';
import type { CronResult } from '../../cron/cron-result.ts';
import type { WantedJob } from '../../cron/job.ts';
import type { CreateOutcome } from '../../cron/outcomes.ts';
import { InterruptedError, UsageError } from '../../errors.ts';
import { batchResult } from '../../output/batch-result.ts';
import { type Column, type CommandResult, objectResult } from '../../output/command-result.ts';
import { emitted } from '../../platform/emitted.ts';
import { type JobInput, parseJobInput } from './shared/job-input.ts';
import { readJobFromFlags } from './shared/read-job-from-flags.ts';

interface Input {
  readonly from: { readonly job: JobInput } | { readonly files: readonly string[] } | 'schema';
  readonly ensure: boolean;
  readonly dryRun: boolean;
}

const JOB_FLAGS = ['agent', 'space', 'name', 'instructions', 'schedule', 'timezone'];

const TONES = {
  created: 'good',
  exists: 'dim',
  adopted: 'good',
  blocked: 'bad',
  unknown: 'bad',
  failed: 'bad',
  planned: 'warn',
  skipped: 'dim',
} as const;

const UNLESS_FILE = { unless: ['file', 'schema'], hint: 'To read the jobs from a file instead: -f jobs.yaml' };

/** Formats the next runs; '' for a job that does not exist with this schedule. */
function formatRuns({ status, next_runs, gap }: CronResult): string {
  if (gap) return '';
  const hasRuns = status === 'created' || status === 'exists' || status === 'adopted' || status === 'planned';
  return hasRuns ? next_runs.join(', ') : '';
}

const COLUMNS: readonly Column<CronResult>[] = [
  { header: 'JOB', value: ({ cron_job_id }) => cron_job_id },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'AGENT', value: ({ job }) => job.agent_id, isOptional: true },
  { header: 'NAME', value: ({ job }) => job.name, fit: 'end' },
  { header: 'SCHEDULE', value: ({ description, gap }) => (gap ? 'not compared' : description) },
  { header: 'NEXT RUNS', value: formatRuns, isTime: true, isOptional: true },
  { header: 'KEY', value: ({ key }) => key, isOptional: true, tone: () => 'dim' },
];

async function printSchema(): Promise<CommandResult> {
  const { cronJobsJsonSchema } = await import('../../cron/jobs-file.ts');
  return { kind: 'text', text: `${JSON.stringify(cronJobsJsonSchema(), null, 2)}\n` };
}

/** Adds to an interruption that no job was sent. Returns other errors unchanged. */
function withNothingSent(error: unknown): unknown {
  return error instanceof InterruptedError
    ? new InterruptedError('Interrupted. No job was sent.', error.exitCode)
    : error;
}

async function readJobs(context: Context, from: Exclude<Input['from'], 'schema'>): Promise<readonly WantedJob[]> {
  if ('job' in from) {
    return [await readJobFromFlags(context, from.job)];
  }
  const { readJobFiles } = await import('./shared/read-job-files.ts');
  return await readJobFiles(context, from.files);
}

async function wantedJobs(context: Context, from: Exclude<Input['from'], 'schema'>): Promise<readonly WantedJob[]> {
  try {
    return await readJobs(context, from);
  } catch (error) {
    throw withNothingSent(error);
  }
}

/** Explains what Ctrl-C waits for while a request is in flight. */
function explainInterrupt(context: Context, posting: Promise<string>): void {
  const { interrupt } = context.signals;
  const explain = (): void => {
    void context.notice(
      'The request was sent. Waiting briefly for the response, which contains the id of the job. If you press Ctrl-C again, run `partnerctl cron reconcile` to find out whether the job exists.',
    );
  };
  interrupt.addEventListener('abort', explain, { once: true });
  const end = (): void => interrupt.removeEventListener('abort', explain);
  posting.then(end, end);
}

/** Creates the jobs, and yields each result as soon as it is known. */
async function* createAll(
  context: Context,
  http: Http,
  wanted: readonly WantedJob[],
  options: Pick<Input, 'ensure' | 'dryRun'>,
): AsyncGenerator<CronResult> {
  const [
    { createJobs },
    { createDeps },
    { createScheduleDescriber },
    { createGapWarner },
    { createHooks, toCreatedResult },
  ] = await Promise.all([
    import('../../cron/create.ts'),
    import('../../cron/service-jobs.ts'),
    import('../../cron/cron-result.ts'),
    import('./shared/create-notices.ts'),
    import('./shared/created-result.ts'),
  ]);
  const { clock, abortSignal: signal } = context;
  const describe = createScheduleDescriber();
  const warnOfGap = createGapWarner(context);
  const jobs = wanted.map(({ job }) => job);
  const deps = createDeps({ http, log: await context.log(), clock, signal }, jobs, {
    ...createHooks(context),
    dryRun: options.dryRun,
    onPost: (posting) => explainInterrupt(context, posting),
  });
  const outcomes = emitted<{ readonly each: WantedJob; readonly outcome: CreateOutcome }>((emit) =>
    createJobs(deps, jobs, {
      ...options,
      onOutcome(index, outcome) {
        const each = wanted[index];
        if (each) emit({ each, outcome });
      },
    }),
  );
  for await (const { each, outcome } of outcomes) {
    const result = await toCreatedResult(each, outcome, context, describe);
    await warnOfGap(result);
    yield result;
  }
}

export default command<Input>({
  description:
    'Creates scheduled jobs for agents, each at most once: a job that exists or may exist, according to the state or the service, is not created again.',
  flags: [
    ...agentFlags(),
    { usage: '--name <name>', description: 'the name of the job, unique per agent' },
    {
      usage: '--instructions <text>',
      description: 'what the agent does on each run; @file reads a file, - standard input',
    },
    { usage: '--schedule <expression>', description: "a cron expression without days of the month: '0 9 * * 1-5'" },
    { usage: '--timezone <zone>', description: 'an IANA name such as Europe/Berlin', default: 'UTC' },
    {
      usage: '-f, --file <path>',
      description: 'a YAML file of jobs, a directory of them, or - for standard input; repeatable',
      repeatable: true,
    },
    {
      usage: '--ensure',
      description: 'succeed if the job already exists with the same content; wait if it is being created',
    },
    { usage: '--dry-run', description: 'show what would be done; nothing is written' },
    { usage: '--schema', description: 'print the JSON Schema of a file for -f' },
    SUMMARY_FLAG,
  ],
  inputs: [
    {
      takenBy: '--file',
      format: 'YAML',
      example: `jobs:
  - agent: <agent_id>
    name: daily
    instructions: Sum up the day.
    schedule: '0 18 * * 1-5'
    timezone: Europe/Berlin
`,
      schemaFlag: '--schema',
    },
  ],
  required: [
    ...['agent', 'name', 'instructions'].map((flag) => ({ oneOf: [flag], ...UNLESS_FILE })),
    { oneOf: ['schedule'], unless: UNLESS_FILE.unless, hint: "For example: --schedule '0 9 * * 1-5'" },
  ],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/cron.ts')).CRON_CREATE,
  scopes: [SCOPE.createJobs, SCOPE.listJobs, SCOPE.readSpaces, SCOPE.readAgents],
  exits: [...SERVICE_EXITS, 'duplicate', 'unknown', 'partial'],
  examples: [
    {
      line: "partnerctl cron create --agent agt_1 --name daily --instructions 'Sum up the day.' --schedule '0 18 * * 1-5' --timezone Europe/Berlin",
      does: 'weekdays at 18:00',
    },
    {
      line: "partnerctl cron create --agent name:Support --space ext:acme-001 --name weekly --instructions @weekly.md --schedule '0 9 * * mon' --ensure",
      does: 'safe to run on every deployment',
    },
    { line: 'partnerctl cron create -f jobs.yaml --dry-run', does: 'what a file would create' },
    {
      line: 'partnerctl cron create -f jobs.yaml --ensure -o json',
      does: 'create the missing jobs, for a script',
    },
  ],
  parse(args) {
    const files = args.values('file');
    const modes = { ensure: args.isSet('ensure'), dryRun: args.isSet('dry-run') };
    const typed = JOB_FLAGS.filter((flag) => args.value(flag) !== undefined);
    if (args.isSet('schema')) return { from: 'schema', ...modes };
    const hasSummary = args.isSet('summary') || args.value('summary') !== undefined;
    if (files.length === 0 && hasSummary) throw new UsageError('--summary can only be used with -f.');
    if (files.length === 0) return { from: { job: parseJobInput(args) }, ...modes };
    if (typed.length > 0) throw new UsageError(`-f and --${typed[0]} cannot be combined.`);
    return { from: { files }, ...modes };
  },
  writes: ({ from, dryRun }) => !dryRun && from !== 'schema',
  async run(context, { from, ...options }) {
    if (from === 'schema') return printSchema();
    const wanted = await wantedJobs(context, from);
    const { CI_VIEW, cronResultJson, jobsFailure, summarizeJobs } = await import('./shared/result-view.ts');
    const http = await context.http();
    if (!options.dryRun) await warnIfUnshared(context, 'jobs');
    context.progress.start(wanted.length === 1 ? 'Creating the job' : 'Creating the jobs');
    async function* counted(): AsyncGenerator<CronResult> {
      let count = 0;
      for await (const result of createAll(context, http, wanted, options)) {
        count += 1;
        if (wanted.length > 1) context.progress.update(`Creating the jobs: ${count} of ${wanted.length}`);
        yield result;
      }
    }
    const failure = (results: readonly CronResult[]) => jobsFailure(results, context.signals.interrupt.reason);
    if ('files' in from) {
      return batchResult(counted(), COLUMNS, {
        empty: 'No jobs to create.',
        json: cronResultJson,
        summary: summarizeJobs,
        failure,
        ci: CI_VIEW,
      });
    }
    const results: CronResult[] = [];
    for await (const each of counted()) results.push(each);
    const [result] = results;
    const failed = failure(results);
    if (!result || (failed && (result.status === 'failed' || result.status === 'skipped')))
      throw withNothingSent(failed);
    return { ...objectResult(result, COLUMNS), json: cronResultJson(result), ...(failed && { failure: failed }) };
  },
});
