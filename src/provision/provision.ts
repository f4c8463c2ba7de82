import type { Http } from '../api/http.ts';
import { DEFAULT_RETRIES } from '../api/retry.ts';
import type { Context } from '../cli/context.ts';
import { type CreateJob, openJobCreator } from '../cron/create-jobs.ts';
import { batchResult, formatCounts } from '../output/batch-result.ts';
import type { CommandResult } from '../output/command-result.ts';
import { problemsError } from '../yaml/problem.ts';
import { readSources } from '../yaml/sources.ts';
import { type ApplyOptions, applyAll } from './apply.ts';
import { planCronJobs } from './create-cron-jobs.ts';
import { runFailure } from './failure.ts';
import { openHistory } from './history.ts';
import { type ManifestDocument, readManifests } from './manifest.ts';
import { previewAll } from './preview.ts';
import { findSpaces, RemoteStateUnavailable } from './remote-state.ts';
import { countDocuments, type DocumentResult, documentResultJson, initialResult } from './result.ts';
import { COLUMNS } from './result-table.ts';

/**
 * Reads the documents of manifest files; nothing is sent.
 * @param variables values of `${NAME}` that win over the environment
 * @throws InputError that shows every mistake with file, line, and column
 */
export async function loadManifests(
  context: Context,
  files: readonly string[],
  variables: ReadonlyMap<string, string>,
): Promise<ManifestDocument[]> {
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const used = new Set<string>();
  const { documents, problems } = readManifests(sources, (name) => {
    used.add(name);
    return variables.get(name) ?? context.env[name];
  });
  if (problems.length > 0) throw problemsError(problems);
  const unused = [...variables.keys()].filter((name) => !used.has(name));
  if (unused.length > 0) await context.notice(`note: no manifest uses --var ${unused.join(', ')}.`);
  return documents;
}

function toCommandResult(context: Context, results: AsyncIterable<DocumentResult>, total: number): CommandResult {
  async function* counted(): AsyncGenerator<DocumentResult> {
    let count = 0;
    for await (const result of results) {
      count += 1;
      if (result.status !== 'skipped') context.progress.update(`Provisioning: ${count} of ${total}`);
      yield result;
    }
  }
  return batchResult(counted(), COLUMNS, {
    empty: 'There is nothing to provision.',
    json: documentResultJson,
    document: (all) => ({ results: all.map(documentResultJson), summary: countDocuments(all) }),
    summary: (all) => formatCounts(countDocuments(all)),
    failure: (all) => runFailure(all, context.signals.interrupt.reason),
  });
}

/** Shows the documents as planned, without calling the service. */
export function checkManifests(context: Context, documents: readonly ManifestDocument[]): CommandResult {
  async function* planned(): AsyncGenerator<DocumentResult> {
    for (const document of documents) {
      yield await planCronJobs(document, initialResult(document, 'planned'), context.clock.now());
    }
  }
  return toCommandResult(context, planned(), documents.length);
}

/** Prepares the creation of jobs; undefined if no document has any. */
async function openCronJobs(
  context: Context,
  http: Http,
  documents: readonly ManifestDocument[],
  options: { readonly dryRun: boolean; readonly reportedLines: Set<number> },
): Promise<CreateJob | undefined> {
  const jobs = documents.flatMap(({ manifest }) => manifest.agents.flatMap(({ cron = [] }) => cron));
  if (jobs.length === 0) return undefined;
  return await openJobCreator(context, http, jobs, { ensure: true, ...options });
}

/** Reads what exists, and shows what provisioning would do. */
export async function previewManifests(
  context: Context,
  documents: readonly ManifestDocument[],
  concurrency: number,
): Promise<CommandResult> {
  const http = await context.http();
  const reportedLines = new Set<number>();
  const history = await openHistory(context, http.baseUrl, documents, reportedLines);
  context.progress.start('Reading the spaces');
  const createJob = await openCronJobs(context, http, documents, { dryRun: true, reportedLines });
  const { clock, signals } = context;
  const deps = { http, history, createJob, clock, interrupt: signals.interrupt };
  return toCommandResult(context, previewAll(deps, documents, concurrency), documents.length);
}

/** Creates or reuses the spaces, and installs missing agents, chats, and jobs. */
export async function applyManifests(
  context: Context,
  documents: readonly ManifestDocument[],
  options: ApplyOptions,
): Promise<CommandResult> {
  const http = await context.http();
  const reportedLines = new Set<number>();
  context.progress.start('Reading the spaces');
  const history = await openHistory(context, http.baseUrl, documents, reportedLines);
  let isReported = false;
  const onUnavailable = async ({ message }: Error): Promise<void> => {
    if (isReported) return;
    isReported = true;
    await context.notice(
      `note: cannot read the existing spaces and agents (${message}) Provisioning continues without reading them. Agents recorded in the state file are not installed again.`,
    );
  };
  const listed = await findSpaces(http, documents).catch(async (error: unknown) => {
    if (!(error instanceof RemoteStateUnavailable)) throw error;
    await onUnavailable(error);
    return undefined;
  });
  const { clock, random, signals, flags } = context;
  const deps = {
    http,
    clock,
    random,
    interrupt: signals.interrupt,
    retries: flags.retries ?? DEFAULT_RETRIES,
    listed,
    history,
    createJob: await openCronJobs(context, http, documents, { dryRun: false, reportedLines }),
    onUnavailable,
  };
  return toCommandResult(context, applyAll(deps, documents, options), documents.length);
}
