import { nameListFailure } from '../api/list-failure.ts';
import { mapConcurrent } from '../api/map-concurrent.ts';
import { DEFAULT_RETRIES } from '../api/retry.ts';
import { takeTurns } from '../api/take-turns.ts';
import type { Context, Signals } from '../cli/context.ts';
import { holdForCheck } from '../cron/check-after-create.ts';
import { openJobCreator } from '../cron/create-jobs.ts';
import { isTokenRejected, type PartnerctlError } from '../errors.ts';
import { batchResult, formatCounts } from '../output/batch-result.ts';
import type { CommandResult, ReportLine } from '../output/command-result.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import { nameSome } from '../output/sentences.ts';
import { describeThisProcess, hasEnded } from '../state-old/owner.ts';
import { randomRecordId } from '../state-old/record.ts';
import { keepUnpublished } from '../state-old/unpublished.ts';
import { warnIfUnshared } from '../state-old/warn-unshared.ts';
import { addCronJobs, checkCronJobs, createCronJobs, hasNewJobs, withUnmanagedJobs } from './create-cron-jobs.ts';
import { countDocuments, type DocumentResult, documentResultJson, initialDocumentResult } from './document-result.ts';
import type { ManifestDocument } from './manifest.ts';
import type { ProvisionDeps, ProvisionOptions } from './provision-deps.ts';
import { openHistory } from './provision-history.ts';
import { provisionOnce } from './provision-once.ts';
import { CI_VIEW, COLUMNS, provisionReport } from './provision-report.ts';
import { createSpaceList, RemoteStateUnavailable, type SpaceList } from './remote-state.ts';
import { runFailure, stopsProvisioning, untestedTokenError } from './run-failure.ts';
import { setUpChats } from './set-up-chats.ts';
import { SPACE_RECORDS } from './space-records.ts';

export interface ApplyOptions extends ProvisionOptions {
  /** How many documents at a time. */
  readonly concurrency: number;
  /** Whether the first failure keeps the remaining documents from being started. */
  readonly failFast: boolean;
}

/** What is said of a run after its results. */
interface RunOutcome {
  readonly report: (results: readonly DocumentResult[]) => readonly ReportLine[];
  /** Why a run in which no document failed fails nevertheless. */
  readonly failure: () => PartnerctlError | undefined;
}

function toCommandResult(
  context: Context,
  results: AsyncIterable<DocumentResult>,
  total: number,
  outcome?: RunOutcome,
): CommandResult {
  async function* counted(): AsyncGenerator<DocumentResult> {
    let count = 0;
    for await (const result of results) {
      if (result.status !== 'skipped') {
        count += 1;
        context.progress.update(`Provisioning: ${count} of ${total}`);
      }
      yield result;
    }
  }
  return batchResult(counted(), COLUMNS, {
    empty: 'There is nothing to provision.',
    json: documentResultJson,
    document: (all) => ({ results: all.map(documentResultJson), summary: countDocuments(all) }),
    ...(outcome && { report: outcome.report }),
    ci: CI_VIEW,
    summary: (all) => formatCounts(countDocuments(all)),
    failure: (all) => runFailure(all, context.signals.interrupt.reason) ?? outcome?.failure(),
  });
}

/** Shows the documents as valid, without calling the service. */
export function listValidManifests(context: Context, documents: readonly ManifestDocument[]): CommandResult {
  async function* checked(): AsyncGenerator<DocumentResult> {
    for (const document of documents) {
      yield await addCronJobs(document, initialDocumentResult(document, 'valid'), context.clock.now());
    }
  }
  return toCommandResult(context, checked(), documents.length);
}

/** Opens the records and what creates jobs, and starts the progress. */
async function openRun(context: Context, documents: readonly ManifestDocument[]) {
  const http = await context.http();
  const jobs = documents.flatMap(({ manifest }) => manifest.agents.flatMap(({ cron = [] }) => cron));
  if (jobs.length > 0) await warnIfUnshared(context, 'jobs');
  const reportedLines = new Set<number>();
  context.progress.start('Reading the spaces');
  const history = await openHistory(context, http.baseUrl, documents, reportedLines);
  const options = { ensure: true, dryRun: false, warned: reportedLines, keepsIdentities: true };
  const creator = jobs.length === 0 ? undefined : await openJobCreator(context, http, jobs, options);
  const { clock, signals } = context;
  return { http, history, jobs: creator, clock, interrupt: signals.interrupt };
}

/** Applies a document and sets up its chats. Failures are in the result. */
async function applyWithChats(deps: ProvisionDeps, document: ManifestDocument): Promise<DocumentResult> {
  const applied = await provisionOnce(deps, document);
  if (applied.status === 'failed' || applied.status === 'skipped') return applied;
  const result = await setUpChats(deps, document, applied);
  const { space_id: spaceId, agents } = result;
  if (spaceId === null || agents.every(({ source_id }) => source_id === null)) return result;
  try {
    await deps.history.record({ manifest: document.manifest, spaceId, agents });
    return result;
  } catch (error) {
    return { ...result, status: 'failed', error };
  }
}

/** Describes the spaces that a second Ctrl-C interrupts; undefined if none are in progress. */
function describeInProgress(externalIds: readonly string[]): string | undefined {
  if (externalIds.length === 0) return undefined;
  const names = sanitizeLine(nameSome(externalIds));
  return `Ended while spaces were being provisioned, which may or may not be complete: ${names}. Run the same command again: it reads what exists before it writes.`;
}

/** Applies documents and yields each result when it is complete. Failures are results; it does not throw. */
async function* applyAll(
  deps: ProvisionDeps & Pick<Signals, 'beforeExit'>,
  documents: readonly ManifestDocument[],
  { concurrency, failFast }: Omit<ApplyOptions, keyof ProvisionOptions>,
): AsyncGenerator<DocumentResult> {
  let isStopped = false;
  const inProgress = new Set<string>();
  // While as many documents as allowed wait for the service, as many others are reserved and recorded.
  const isInOrder = failFast || concurrency === 1;
  const atOnce = isInOrder ? concurrency : Math.max(2 * concurrency, deps.store.reservationsAtOnce);

  async function applyOne(document: ManifestDocument): Promise<DocumentResult> {
    const isSkipped = isStopped || deps.interrupt.aborted;
    if (!isSkipped) inProgress.add(document.manifest.external_space_id);
    const applied = isSkipped ? initialDocumentResult(document, 'skipped') : await applyWithChats(deps, document);
    const result = await createCronJobs(deps, document, applied);
    inProgress.delete(document.manifest.external_space_id);
    // The error of the document may hide that one of its jobs failed with an error that stops the run.
    const errors = [result.error, ...result.cron.map(({ error }) => error)];
    if (result.status === 'failed') isStopped ||= failFast || errors.some(stopsProvisioning);
    return result;
  }
  const applied = mapConcurrent(documents, atOnce, (document) => deps.store.together(() => applyOne(document)));
  const forget = deps.beforeExit(() => describeInProgress([...inProgress]));
  try {
    yield* holdForCheck(applied, {
      needsCheck: hasNewJobs,
      readAt: deps.jobs?.second.readAt ?? (() => Number.NEGATIVE_INFINITY),
      check: (held, list) => checkCronJobs(deps, held, list),
      clock: deps.clock,
    });
  } finally {
    forget();
  }
}

/** Reads the spaces of a run for the first time; undefined if the token may not. */
async function openSpaceList(
  list: SpaceList,
  onUnavailable: ProvisionDeps['onUnavailable'],
): Promise<SpaceList | undefined> {
  try {
    await list.recent();
    return list;
  } catch (error) {
    if (!(error instanceof RemoteStateUnavailable)) {
      throw nameListFailure(error, 'the list of spaces', 'Nothing was sent.');
    }
    await onUnavailable(error);
    return undefined;
  }
}

/** Creates or reuses the spaces, and installs missing agents, chats, and jobs. */
export async function applyManifests(
  context: Context,
  documents: readonly ManifestDocument[],
  { settleMs, retryUnknown, ...options }: ApplyOptions,
): Promise<CommandResult> {
  const run = await openRun(context, documents);
  const { http, history } = run;
  let isReported = false;
  let rejection: PartnerctlError | undefined;
  const onUnavailable = async ({ message, list, reason }: RemoteStateUnavailable): Promise<void> => {
    if (list === 'spaces' && isTokenRejected(reason)) rejection = reason;
    if (isReported) return;
    isReported = true;
    await context.notice(
      `note: cannot read the existing ${list === 'spaces' ? 'spaces and agents' : list} (${message}) Provisioning continues without reading them. Agents recorded in the state are not installed again.`,
    );
  };
  const { random, flags, abortSignal, progress, clock } = context;
  const owner = describeThisProcess();
  const unpublished = keepUnpublished(await context.stateLocation(), SPACE_RECORDS);
  const turns = takeTurns(options.concurrency, stopsProvisioning);
  const spaces = createSpaceList({ http, inTurn: turns.inTurn }, documents, history, clock);
  const deps: ProvisionDeps = {
    ...run,
    ...turns,
    random,
    abortSignal,
    store: await context.stateStore(),
    settleMs,
    retryUnknown,
    retries: flags.retries ?? DEFAULT_RETRIES,
    list: await openSpaceList(spaces, onUnavailable),
    once: {
      ledger: history.ledger,
      clock,
      newId: randomRecordId,
      owner,
      hasEnded: (other) => hasEnded(other, owner),
      ...unpublished,
    },
    onUnavailable,
    onWait: (why, leftMs = 0) => {
      progress.detail(why);
      progress.countdown(leftMs, (left) => `${why}: ${left}`);
    },
  };
  const report = (results: readonly DocumentResult[]) =>
    provisionReport(results.map((result) => withUnmanagedJobs(deps, result)));
  // Any request that the service accepted shows that the token is valid.
  const failure = () => (rejection && http.successCount === 0 ? untestedTokenError(rejection) : undefined);
  const { beforeExit } = context.signals;
  return toCommandResult(context, applyAll({ ...deps, beforeExit }, documents, options), documents.length, {
    report,
    failure,
  });
}
