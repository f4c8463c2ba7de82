import { DEFAULT_RETRIES } from '../../api/retry.ts';
import type { Context } from '../../cli/context.ts';
import { refuseTokenOnStdin } from '../../cli/input.ts';
import { type CreateDeps, createJobs } from '../../cron/create.ts';
import { createDeps } from '../../cron/create-wanted.ts';
import { toCreatedResult } from '../../cron/created-result.ts';
import type { CronJob } from '../../cron/job.ts';
import type { ListedJob } from '../../cron/listed-job.ts';
import { type CronResult, createScheduleDescriber, type DescribeSchedule } from '../../cron/result.ts';
import { type JobLists, jobListsOf } from '../../cron/service-jobs.ts';
import { InterruptedError, PartnerctlError } from '../../errors.ts';
import type { ProvisionDeps } from '../../provision/apply.ts';
import type { ManifestDocument } from '../../provision/manifest.ts';
import { Observer } from '../../provision/observe.ts';
import { parseManifests } from '../../provision/read-manifests.ts';
import { readFacts } from '../../provision/space-record.ts';
import { problemsError } from '../../yaml/problem.ts';
import { readSources } from '../../yaml/sources.ts';
import { createGapWarner, createHooks } from '../cron/shared/notices.ts';

/**
 * Reads the documents of manifest files; nothing is sent.
 * @param variables those of --var
 * @throws InputError that shows every mistake with file, line, and column
 */
export async function readManifests(
  context: Context,
  files: readonly string[],
  variables: ReadonlyMap<string, string>,
): Promise<readonly ManifestDocument[]> {
  if (files.includes('-')) refuseTokenOnStdin(context.flags, 'manifest');
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const used = new Set<string>();
  const { documents, problems } = parseManifests(sources, (name) => {
    used.add(name);
    return variables.get(name) ?? context.env[name];
  });
  if (problems.length > 0) throw problemsError(problems);
  const unused = [...variables.keys()].filter((name) => !used.has(name));
  if (unused.length > 0) await context.notice(`note: no manifest uses --var ${unused.join(', ')}.`);
  return documents;
}

/** What the state will hold of a document: ids, and the names of jobs. */
function recordedTexts({ manifest }: ManifestDocument): readonly string[] {
  const { external_space_id, agents } = manifest;
  return [
    external_space_id,
    ...agents.flatMap(({ template_id, cron = [] }) => [template_id, ...cron.map(({ name }) => name)]),
  ];
}

/** Opens the state and the service for the documents. @throws as `Log.refuseSecrets` and `Log.read` */
export async function openProvisioning(
  context: Context,
  documents: readonly ManifestDocument[],
  { isPlan }: { readonly isPlan: boolean },
): Promise<ProvisionDeps & { readonly lists: JobLists }> {
  const { clock, random, flags, signals, progress } = context;
  const http = await context.http();
  const log = await context.log();
  log.refuseSecrets(documents.flatMap(recordedTexts));
  progress.start('Reading the spaces');
  const facts = readFacts(await log.read(), http.baseUrl);
  let isReported = false;
  const observer = new Observer(http, documents, facts, async (list, reason) => {
    if (isReported) return;
    isReported = true;
    const known = isPlan
      ? 'The plan knows only what the state recorded.'
      : 'What the state recorded is not sent again.';
    await context.notice(`note: cannot read the list of ${list} (${reason.message}) ${known}`);
  });
  const access = { http, log, clock, signal: context.abortSignal };
  const lists = jobListsOf(access, { dryRun: isPlan });
  const describe = createScheduleDescriber();
  return {
    http,
    clock,
    lists,
    random,
    retries: flags.retries ?? DEFAULT_RETRIES,
    interrupt: signals.interrupt,
    observer,
    log,
    facts,
    describe,
    createJobs: (jobs) => {
      const deps = createDeps(access, lists, createHooks(context));
      return createAll(context, { ...deps, describe }, jobs, isPlan);
    },
  };
}

/** Creates the jobs of all documents, or tells what would be done. One result for each job, in order. */
async function createAll(
  context: Context,
  { describe, ...deps }: CreateDeps & { readonly describe: DescribeSchedule },
  jobs: readonly CronJob[],
  isPlan: boolean,
): Promise<readonly CronResult[]> {
  const warnOfGap = createGapWarner(context);
  const outcomes = await createJobs(deps, jobs, { ensure: true, dryRun: isPlan });
  const results: CronResult[] = [];
  for (const [index, job] of jobs.entries()) {
    const outcome = outcomes[index];
    if (!outcome) continue;
    const result = await toCreatedResult({ index, source: undefined, job }, outcome, context, describe);
    await warnOfGap(result);
    results.push(result);
  }
  return results;
}

/** The jobs that the service lists; none, with a notice, if they cannot be listed: they are only shown. */
export async function readListedJobs(context: Context, lists: JobLists): Promise<readonly ListedJob[]> {
  try {
    const list = await lists.recent();
    return list.kind === 'read' ? [...list.jobs.values()] : [];
  } catch (error) {
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
    await context.notice(`note: jobs that no manifest has are not shown. ${error.message}`);
    return [];
  }
}
