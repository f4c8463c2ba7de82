import type { Context } from '../../cli/context.ts';
import { refuseTokenOnStdin } from '../../cli/input.ts';
import { DEFAULT_RETRIES } from '../../config/global-flags.ts';
import type { ListedCronJob } from '../../contract/cron.ts';
import type { CronResult } from '../../cron/create-wanted.ts';
import { openJobs } from '../../cron/create-wanted.ts';
import type { CronJob } from '../../cron/job.ts';
import type { JobLists } from '../../cron/service-jobs.ts';
import { InterruptedError, PartnerctlError } from '../../errors.ts';
import type { ProvisionDeps } from '../../provision/apply.ts';
import type { ManifestDocument } from '../../provision/manifest.ts';
import { Observer } from '../../provision/observe.ts';
import { parseManifests, parseVariables } from '../../provision/read-manifests.ts';
import { readFacts } from '../../provision/space-record.ts';
import { problemsError } from '../../yaml/problem.ts';
import { readSources } from '../../yaml/sources.ts';

/**
 * Reads the documents of manifest files; nothing is sent.
 * @param texts the values of --var
 * @throws InputError that shows every mistake with file, line, and column; UsageError for a value of --var
 */
export async function readManifests(
  context: Context,
  files: readonly string[],
  texts: readonly string[],
): Promise<readonly ManifestDocument[]> {
  const variables = parseVariables(texts);
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
    const known = 'Only what the state recorded is known.';
    await context.notice(`note: cannot read the list of ${list} (${reason.message}) ${known}`);
  });
  const { lists, describe, create } = openJobs(context, http, log, { ensure: true, dryRun: isPlan });
  const createJobs = async (jobs: readonly CronJob[]): Promise<readonly CronResult[]> => {
    const results: CronResult[] = [];
    const wanted = jobs.map((job, index) => ({ index, source: undefined, job }));
    for await (const result of create(wanted)) results[result.index] = result;
    return results;
  };
  return {
    http,
    log,
    facts,
    clock,
    random,
    observer,
    lists,
    createJobs,
    describe,
    retries: flags.retries ?? DEFAULT_RETRIES,
    interrupt: signals.interrupt,
  };
}

/** The jobs that the service lists; none, with a notice, if they cannot be listed: they are only shown. */
export async function readListedJobs(context: Context, lists: JobLists): Promise<readonly ListedCronJob[]> {
  try {
    const list = await lists.recent();
    return list.kind === 'read' ? [...list.jobs.values()] : [];
  } catch (error) {
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
    await context.notice(`note: jobs that no manifest has are not shown. ${error.message}`);
    return [];
  }
}
