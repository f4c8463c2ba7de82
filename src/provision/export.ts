import { hash, randomUUID } from 'node:crypto';
import { readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { stringify } from 'yaml';
import { listAgents, listSpaces } from '../api/calls.ts';
import { findSpace, parseReference } from '../api/references.ts';
import type { ListedAgent, ListedSpace } from '../contract/resources.ts';
import { comparableAgent } from '../contract/values.ts';
import type { CronContext } from '../cron/context.ts';
import { JobLists, listNamedJobs } from '../cron/job-list.ts';
import { describeFileError, InputError, InterruptedError, LocalError, PartnerctlError, stopsRun } from '../errors.ts';
import { emitted } from '../platform/emitted.ts';
import { makeDirectories } from '../platform/files.ts';
import { readFacts } from '../state/space-record.ts';
import { escapeVariables, type Lookup } from '../yaml/interpolate.ts';
import { problemsError } from '../yaml/problem.ts';
import { readSources, YAML_FILE } from '../yaml/sources.ts';
import type { Unmanaged } from './differences.ts';
import { describeSpace, type ExportedSpace, type FoundSpace } from './exported-space.ts';
import { parseManifests } from './read-manifests.ts';
import { type Selection, spaceSelector } from './select.ts';
import { jobsByAgent } from './snapshot.ts';
import { updateManifest } from './update-manifest.ts';

/** Spaces that are read at a time. */
const CONCURRENCY = 4;

export interface ExportResult {
  readonly index: number;
  /** Null if the space is left out. */
  readonly file: string | null;
  readonly external_space_id: string | null;
  readonly space_id: string;
  /** How many of them the file describes. */
  readonly agents: number;
  readonly jobs: number;
  /** What no manifest can describe. */
  readonly leftOut: readonly Unmanaged[];
  /** `left_out`: no manifest can describe the space, and the error says why. */
  readonly status: 'written' | 'updated' | 'unchanged' | 'left_out' | 'failed';
  readonly error: unknown;
}

type ExportContext = Pick<CronContext, 'abortSignal' | 'clock' | 'io' | 'progress' | 'http' | 'log' | 'warn'>;

interface ExportOptions extends Selection {
  readonly out: string;
  /** Whether an existing file is updated. */
  readonly update: boolean;
  /** The value of a variable in an existing file. */
  readonly lookup: Lookup;
}

/** The name of the file of a space: its external id, or words of it and a hash where that is not a safe name. */
function fileNameOf(externalId: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,99}$/.test(externalId)) return `${externalId}.yaml`;
  const words = externalId.toLowerCase().split(/[^a-z0-9]+/);
  return `${['space', ...words].filter(Boolean).join('-').slice(0, 60)}-${hash('sha256', externalId, 'hex').slice(0, 12)}.yaml`;
}

/** Writes a file of a space, or updates it. @throws InputError if it must not be updated, or as `updateManifest`; LocalError */
async function save(
  file: string,
  found: FoundSpace,
  exported: ExportedSpace,
  { update, lookup }: ExportOptions,
): Promise<ExportResult['status']> {
  const existing = await realpath(file).catch(() => undefined);
  const path = existing ?? file;
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    const text = existing && (await readFile(existing, 'utf8'));
    const written =
      text === undefined
        ? stringify(exported.manifest, escapeVariables, { lineWidth: 0 })
        : updateManifest({ name: file, text }, exported, found, lookup);
    if (written === text) return 'unchanged';
    if (text !== undefined && !update)
      throw new InputError(`${file} differs from the service.`, { hint: 'To update it, add --update.' });
    await writeFile(temporary, written, { mode: existing === undefined ? 0o666 : (await stat(existing)).mode });
    await rename(temporary, path);
    return text === undefined ? 'written' : 'updated';
  } catch (error) {
    if (error instanceof PartnerctlError) throw error;
    await rm(temporary, { force: true });
    throw new LocalError(`Cannot write ${file}.`, { why: describeFileError(error), cause: error });
  }
}

/** Finds the files that exist, by the external id of the space that they describe. */
async function findFiles({ out, lookup }: ExportOptions, { io, abortSignal }: ExportContext) {
  const files = (await readdir(out)).some((name) => YAML_FILE.test(name));
  const { documents, problems } = parseManifests(files ? await readSources([out], io.stdin, abortSignal) : [], lookup);
  if (problems.length > 0) throw problemsError(problems);
  return new Map(
    documents.map(({ source, manifest }) => [manifest.external_space_id, source.slice(0, source.lastIndexOf(':'))]),
  );
}

/** Reads what is read once for all spaces. */
async function readFleet(context: ExportContext, references: readonly string[], options: ExportOptions) {
  const { clock, progress, warn } = context;
  const files = await findFiles(options, context);
  const http = await context.http();
  const facts = readFacts(await (await context.log()).read(), http.baseUrl);
  progress.start('Reading the spaces');
  const spaces = new Map<string, ListedSpace>();
  for (const typed of references) {
    const space = await findSpace(http, parseReference(typed));
    spaces.set(space.space_id, space);
  }
  if (references.length === 0) for await (const space of listSpaces(http)) spaces.set(space.space_id, space);
  const factsBySpace = new Map([...facts.values()].map((fact) => [fact.space_id, fact]));
  const idOf = ({ external_space_id, space_id }: ListedSpace) =>
    external_space_id ?? factsBySpace.get(space_id)?.external_space_id;
  const listed = [...spaces.values()];
  const isSelected = await spaceSelector(listed.map(idOf), options);
  const selected = listed.filter((space) => isSelected(idOf(space)));
  progress.start('Reading the jobs');
  const hint = () => 'No file was written: a manifest without its jobs would not describe the space.';
  const list = await new JobLists({ list: () => listNamedJobs(http), clock, hint }).whole();
  const jobs = jobsByAgent(list.jobs.values());
  const unowned = jobs.get('')?.length ?? 0;
  const set = "partnerctl contract set cron_job.agent_id '<path>'";
  if (unowned > 0)
    await warn(`Jobs left out: ${unowned}. The list does not say which agent runs them. If it does: ${set}`);
  const keyOf = (space: ListedSpace) => idOf(space) ?? space.space_id;
  const sorted = selected.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  return { http, spaces: sorted, factsBySpace, jobs, files };
}

async function exportSpace(
  { http, factsBySpace, jobs, files }: Awaited<ReturnType<typeof readFleet>>,
  space: ListedSpace,
  options: ExportOptions,
): Promise<Omit<ExportResult, 'index'>> {
  const { space_id, external_space_id = null } = space;
  const nothing = { file: null, external_space_id, space_id, agents: 0, jobs: 0, leftOut: [] };
  try {
    const agents = new Map<string, ListedAgent>();
    for await (const agent of listAgents(http, space_id)) agents.set(agent.agent_id, agent);
    const jobsOf = (id: string) => jobs.get(comparableAgent(id)) ?? [];
    const found = { space, agents: [...agents.values()], fact: factsBySpace.get(space_id), jobsOf };
    const exported = describeSpace(found);
    if (exported instanceof InputError) return { ...nothing, status: 'left_out', error: exported };
    const { manifest, leftOut } = exported;
    const id = manifest.external_space_id;
    const file = files.get(id) ?? join(options.out, fileNameOf(id));
    const status = await save(file, found, exported, options);
    const count = manifest.agents.flatMap(({ cron = [] }) => cron).length;
    const counts = { agents: manifest.agents.length, jobs: count, leftOut };
    return { file, external_space_id: id, space_id, ...counts, status, error: undefined };
  } catch (error) {
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError || stopsRun(error)) throw error;
    return { ...nothing, status: 'failed', error };
  }
}

/**
 * Writes a manifest for each space that plans nothing. Sends only reads.
 * @param references the spaces to select from, each a space_id, `ext:<external_space_id>`, or `name:<name>`; none for all
 * @returns the result of each space as soon as it is known
 * @throws before a file is written: NotFoundError or UsageError for a reference, UsageError for a glob that matches
 *   nothing, the errors of the lists and of the state, LocalError if there is no directory. InterruptedError, or what
 *   every space would fail with.
 */
export function exportSpaces(
  context: ExportContext,
  references: readonly string[],
  options: ExportOptions,
): AsyncGenerator<ExportResult> {
  return emitted(async (emit) => {
    await makeDirectories(options.out).catch((error: unknown) => {
      throw new LocalError(`Cannot write into ${options.out}.`, { why: describeFileError(error), cause: error });
    });
    const fleet = await readFleet(context, references, options);
    const run = async (space: ListedSpace, index: number): Promise<void> => {
      const result = await exportSpace(fleet, space, options);
      for (const { resource, id, name, reason } of result.leftOut)
        await context.warn(`${result.file} leaves out ${resource} ${JSON.stringify(name ?? '')} (${id}): ${reason}.`);
      emit({ index, ...result });
    };
    const limit = pLimit(CONCURRENCY);
    await Promise.all(fleet.spaces.map((space, index) => limit(() => run(space, index))));
  });
}
