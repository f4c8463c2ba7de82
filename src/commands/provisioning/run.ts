import type { Context } from '../../cli/context.ts';
import { DEFAULT_RETRIES } from '../../config/global-flags.ts';
import { type CronResult, openJobs } from '../../cron/create-wanted.ts';
import type { CronJob } from '../../cron/job.ts';
import { createScheduleDescriber } from '../../cron/schedule.ts';
import type { JobLists } from '../../cron/service-jobs.ts';
import { UsageError } from '../../errors.ts';
import { batchResult } from '../../output/batch-result.ts';
import type { CommandResult } from '../../output/command-result.ts';
import { applyManifests } from '../../provision/apply.ts';
import { addUnmanagedJobs } from '../../provision/jobs.ts';
import type { ManifestDocument } from '../../provision/manifest.ts';
import { Observer } from '../../provision/observe.ts';
import type { SpacePlan } from '../../provision/plan.ts';
import { describeUnstarted, type ProvisionDeps, planManifests } from '../../provision/plan-manifests.ts';
import { parseManifests, parseVariables } from '../../provision/read-manifests.ts';
import { jobsByAgent } from '../../provision/reading.ts';
import { readFacts } from '../../provision/space-record.ts';
import { problemsError } from '../../yaml/problem.ts';
import { readSources } from '../../yaml/sources.ts';
import { documentBatch, exitCodeOfPlan } from './report.ts';

interface SharedOptions {
  readonly concurrency: number;
  readonly installRenamed?: boolean | undefined;
}

/**
 * Reads the documents of manifest files; nothing is sent.
 * @param texts the values of --var
 * @throws InputError that shows every mistake with file, line, and column; UsageError without a file, or for --var
 */
export async function readManifests(
  context: Context,
  files: readonly string[],
  texts: readonly string[],
): Promise<readonly ManifestDocument[]> {
  if (files.length === 0) {
    throw new UsageError('No manifest is given.', { hint: 'Give a YAML file, a directory, or - for standard input.' });
  }
  const lookup = parseVariables(texts, context.env);
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const { documents, problems } = parseManifests(sources, lookup);
  if (problems.length > 0) throw problemsError(problems);
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

async function openProvisioning(
  context: Context,
  documents: readonly ManifestDocument[],
  { concurrency, installRenamed = false, isPlan }: SharedOptions & { readonly isPlan: boolean },
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
  const { lists, describe, create } = openJobs(context, http, log, {
    ...{ ensure: true, dryRun: isPlan, createBeside: installRenamed },
    isNamed: () => true,
  });
  let done = 0;
  const onDocument = (): void => {
    done += 1;
    progress.update(`${isPlan ? 'Planning' : 'Provisioning'}: ${done} of ${documents.length}`);
  };
  const createJobs = async (jobs: readonly CronJob[]): Promise<readonly CronResult[]> => {
    const results: CronResult[] = [];
    const wanted = jobs.map((job, index) => ({ index, source: undefined, job }));
    for await (const result of create(wanted)) results[result.index] = result;
    return results;
  };
  return {
    ...{ http, log, facts, clock, random, observer, lists, createJobs, describe, concurrency, installRenamed },
    onDocument,
    retries: flags.retries ?? DEFAULT_RETRIES,
    stop: signals.interrupt,
  };
}

/**
 * Plans what provisioning would do, and writes the plan to the file `out`.
 * @throws as `openProvisioning`, `planManifests`, and `writePlan`
 */
export async function planDocuments(
  context: Context,
  documents: readonly ManifestDocument[],
  options: SharedOptions & { readonly detailedExitcode?: boolean | undefined; readonly out?: string | undefined },
): Promise<CommandResult> {
  const { out, installRenamed = false } = options;
  const deps = await openProvisioning(context, documents, { ...options, isPlan: true });
  const plans = await planManifests(deps, documents);
  const hasAgents = plans.some(({ observed }) => observed.agents.length > 0);
  const listed = hasAgents ? await deps.lists.recent() : undefined;
  const jobs = listed && 'jobs' in listed ? jobsByAgent(listed.jobs.values()) : undefined;
  if (jobs) addUnmanagedJobs(plans, jobs);
  if (out !== undefined) {
    const { writePlan } = await import('../../provision/plan-file.ts');
    const count = await writePlan(out, plans, jobs, { service: deps.http.baseUrl, installRenamed });
    const next = count > 0 ? ` To carry it out: ${context.command(['apply', out])}` : '';
    await context.notice(`The plan in ${out} has steps for ${count} of ${plans.length} spaces.${next}`);
  }
  const result = batchResult(plans, documentBatch('planned'), context.signals);
  return options.detailedExitcode ? { ...result, exitCode: () => exitCodeOfPlan(plans) } : result;
}

/** Creates or reuses the spaces, and installs missing agents, chats, and jobs. @throws as `openProvisioning` */
export async function provisionDocuments(
  context: Context,
  documents: readonly ManifestDocument[],
  { failFast = false, ...options }: SharedOptions & { readonly failFast?: boolean | undefined },
): Promise<CommandResult> {
  const deps = await openProvisioning(context, documents, { ...options, isPlan: false });
  await deps.observer.prepare();
  return batchResult(applyManifests(deps, documents, { failFast }), documentBatch('created'), context.signals);
}

/**
 * Carries out the file of a plan: exactly its steps.
 * @param input the manifests that the plan must have been made of, if they are given
 * @throws InputError if the file is no plan; UsageError if it is for another service, or of other manifests; as
 * `openProvisioning`
 */
export async function applyPlan(
  context: Context,
  path: string,
  input: readonly ManifestDocument[] | undefined,
  { failFast = false, concurrency }: { readonly failFast?: boolean | undefined; readonly concurrency: number },
): Promise<CommandResult> {
  const { inputHash, readPlan, staleError } = await import('../../provision/plan-file.ts');
  const plan = await readPlan(path);
  const hint = 'Make a new plan with: partnerctl plan <file...> --out plan.json';
  const given = new Set(input?.map(({ manifest }) => JSON.stringify(manifest)));
  const isOfInput = ({ manifest }: { readonly manifest: object }) => given.has(JSON.stringify(manifest));
  if (input && (inputHash(input) !== plan.input_sha256 || !plan.spaces.every(isOfInput)))
    throw new UsageError(`The plan ${path} was made of other manifests, or of other values of variables.`, { hint });
  // Steps with holes are blocked, so that no plan has one.
  const holes = new Map<object, string>();
  const documents = plan.spaces.map(({ source, manifest }, index) => ({ source, index, manifest, holes }));
  const options = { concurrency, installRenamed: plan.install_renamed, isPlan: false };
  const deps = await openProvisioning(context, documents, options);
  const { baseUrl } = deps.http;
  if (baseUrl !== plan.service)
    throw new UsageError(`The plan ${path} is for ${plan.service}, not for ${baseUrl}.`, { hint });
  const jobs = jobsByAgent(plan.jobs_listed ? (await deps.lists.whole()).jobs.values() : []);
  const findStale = (space: SpacePlan) => {
    const planned = plan.spaces[space.index];
    return planned && staleError(space, planned, jobs);
  };
  await deps.observer.prepare();
  const plans = applyManifests({ ...deps, findStale }, documents, { failFast });
  return batchResult(plans, documentBatch('created'), context.signals);
}

/** Shows the documents as valid, without calling the service. */
export async function checkDocuments(context: Context, documents: readonly ManifestDocument[]): Promise<CommandResult> {
  const deps = { describe: createScheduleDescriber(context.clock) };
  const plans = await Promise.all(documents.map((document) => describeUnstarted(deps, document, 'planned')));
  return batchResult(plans, documentBatch('created'), context.signals);
}
