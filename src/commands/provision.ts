import type { Http } from '../api/http.ts';
import { DEFAULT_RETRIES } from '../api/retry.ts';
import { command } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { refuseTokenOnStdin } from '../cli/input.ts';
import type { CreateJob } from '../cron/create-jobs.ts';
import { PartnerctlError, UsageError } from '../errors.ts';
import { batchResult } from '../output/batch-result.ts';
import type { Column, CommandResult } from '../output/command-result.ts';
import type { ManifestDocument } from '../provision/manifest.ts';
import { type DocumentResult, resultJson, runFailure, summarise, summaryText } from '../provision/result.ts';

interface Input {
  readonly files: readonly string[];
  readonly vars: ReadonlyMap<string, string>;
  readonly mode: 'apply' | 'check' | 'dry-run' | 'schema';
  readonly concurrency: number;
  readonly failFast: boolean;
}

function variable(text: string): [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new UsageError(`--var takes NAME=value, not ${JSON.stringify(text)}.`);
}

function modeOf(chosen: readonly (readonly [Input['mode'], boolean])[]): Input['mode'] {
  const given = chosen.filter(([, on]) => on).map(([mode]) => mode);
  if (given.length > 1) throw new UsageError(`--${given.join(' and --')} exclude each other.`);
  return given[0] ?? 'apply';
}

function differencesText({ differences }: DocumentResult): string {
  return differences
    .map(
      ({ field, service, manifest }) =>
        `${field} stays ${JSON.stringify(service)}; the manifest says ${JSON.stringify(manifest)}`,
    )
    .join('; ');
}

function countsText(things: readonly { readonly status: string }[]): string {
  const counts = new Map<string, number>();
  for (const { status } of things) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
}

/** The sources to send messages to; by the names of the agents where there are several of those. */
function sourcesText({ agents }: DocumentResult): string {
  const connected = agents.filter(({ source_id }) => source_id !== null);
  return connected.map(({ name, source_id }) => (agents.length === 1 ? source_id : `${name} ${source_id}`)).join(', ');
}

/** What failed, and the first line of why. */
function errorNote(error: unknown): string {
  if (!(error instanceof PartnerctlError)) return String(error);
  const why = error.info.why?.split('\n')[0];
  return why === undefined ? error.message : `${error.message} ${why}`;
}

function noteText(result: DocumentResult): string {
  if (result.error !== undefined) return errorNote(result.error);
  const action =
    result.action === 'create' ? 'would be created' : result.action === 'install' ? 'agents would be installed' : '';
  const jobs =
    result.action === undefined && result.cron.some(({ status }) => status === 'planned')
      ? 'jobs would be created'
      : '';
  return [action, jobs, differencesText(result)].filter((part) => part !== '').join('; ');
}

const TONES = {
  created: 'good',
  reused: 'good',
  unchanged: 'dim',
  planned: 'warn',
  failed: 'bad',
  skipped: 'dim',
} as const;

const COLUMNS: readonly Column<DocumentResult>[] = [
  { header: 'SOURCE', value: ({ source }) => source },
  { header: 'EXTERNAL ID', value: ({ external_space_id }) => external_space_id, noTruncate: true },
  { header: 'SPACE', value: ({ space_id }) => space_id, noTruncate: true },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'AGENTS', value: ({ agents }) => countsText(agents) },
  { header: 'NOTE', value: noteText },
  { header: 'CHAT', value: sourcesText, noTruncate: true },
  { header: 'JOBS', value: ({ cron }) => countsText(cron) },
];

function report(
  results: AsyncIterable<DocumentResult> | Iterable<DocumentResult>,
  total: number,
  context: Context,
): CommandResult {
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
    json: resultJson,
    document: (all) => ({ results: all.map(resultJson), summary: summarise(all) }),
    summary: (all) => summaryText(summarise(all)),
    failure: (all) => runFailure(all, context.signals.interrupt.reason),
  });
}

async function readDocuments(context: Context, { files, vars }: Input): Promise<ManifestDocument[]> {
  const [{ readSources }, { readManifests }, { problemsError }] = await Promise.all([
    import('../yaml/sources.ts'),
    import('../provision/manifest.ts'),
    import('../yaml/problem.ts'),
  ]);
  const sources = await readSources(files, context.io.stdin, context.abortSignal);
  const used = new Set<string>();
  const { documents, problems } = readManifests(sources, (name) => {
    used.add(name);
    return vars.get(name) ?? context.env[name];
  });
  if (problems.length > 0) throw problemsError(problems);
  const unused = [...vars.keys()].filter((name) => !used.has(name));
  if (unused.length > 0) await context.notice(`note: no manifest uses --var ${unused.join(', ')}.`);
  return documents;
}

async function schemaText(): Promise<CommandResult> {
  const { manifestJsonSchema } = await import('../provision/manifest-json-schema.ts');
  return { kind: 'text', text: `${JSON.stringify(manifestJsonSchema(), null, 2)}\n` };
}

async function check(context: Context, documents: readonly ManifestDocument[]): Promise<CommandResult> {
  const [{ untouched }, { planCronJobs }] = await Promise.all([
    import('../provision/outcome.ts'),
    import('../provision/cron.ts'),
  ]);
  async function* planned(): AsyncGenerator<DocumentResult> {
    for (const document of documents) {
      yield await planCronJobs(document, untouched(document, 'planned'), context.clock.now());
    }
  }
  return report(planned(), documents.length, context);
}

/** What creates the jobs of all documents; nothing is loaded or looked at where there are none. */
async function jobCreation(
  context: Context,
  http: Http,
  documents: readonly ManifestDocument[],
  dryRun: boolean,
  said: Set<number>,
): Promise<CreateJob | undefined> {
  const jobs = documents.flatMap(({ manifest }) => manifest.agents.flatMap(({ cron = [] }) => cron));
  if (jobs.length === 0) return undefined;
  const { openJobCreator } = await import('../cron/create-jobs.ts');
  return await openJobCreator(context, http, jobs, { ensure: true, dryRun }, said);
}

async function dryRun(
  context: Context,
  documents: readonly ManifestDocument[],
  concurrency: number,
): Promise<CommandResult> {
  const [{ planAll }, { openMemory }] = await Promise.all([
    import('../provision/dry-run.ts'),
    import('../provision/memory.ts'),
  ]);
  const http = await context.http();
  const said = new Set<number>();
  const memory = await openMemory(context, http.baseUrl, documents, said);
  context.progress.start('Looking at the spaces');
  const createJob = await jobCreation(context, http, documents, true, said);
  const jobs = { createJob, clock: context.clock, interrupt: context.signals.interrupt };
  return report(planAll(http, documents, concurrency, memory, jobs), documents.length, context);
}

async function apply(context: Context, documents: readonly ManifestDocument[], input: Input): Promise<CommandResult> {
  const [{ firstLook, provisionAll }, { openMemory }] = await Promise.all([
    import('../provision/run.ts'),
    import('../provision/memory.ts'),
  ]);
  const http = await context.http();
  const said = new Set<number>();
  context.progress.start('Looking at the spaces');
  const memory = await openMemory(context, http.baseUrl, documents, said);
  let blind = false;
  const onBlind = async (reason: Error): Promise<void> => {
    if (blind) return;
    blind = true;
    await context.notice(
      `note: what is there cannot be looked at (${reason.message}) The spaces are posted as the spec says is safe; the state file tells what earlier runs installed.`,
    );
  };
  const listed = await firstLook(http, documents, onBlind);
  const { clock, random, signals, flags } = context;
  const surface = {
    http,
    clock,
    random,
    interrupt: signals.interrupt,
    retries: flags.retries ?? DEFAULT_RETRIES,
    listed,
    memory,
    createJob: await jobCreation(context, http, documents, false, said),
    onBlind,
  };
  return report(provisionAll(documents, surface, input), documents.length, context);
}

export default command<Input>({
  description:
    'Creates or reuses spaces, installs agents and creates their scheduled jobs, from YAML manifests. All input is checked before anything is sent. It looks at what is there before it writes, so a repeat installs nothing and creates no job twice.',
  args: [{ usage: '[file...]', description: 'YAML files, directories of them, or - for standard input' }],
  flags: [
    { usage: '--check', description: 'only check the manifests; nothing is sent' },
    { usage: '--dry-run', description: 'read the service and show what would be done; nothing is written' },
    { usage: '--schema', description: 'print the JSON Schema of a manifest' },
    {
      usage: '--var <NAME=value>',
      description: 'a value for ${NAME}; wins over the environment; may be repeated',
      repeatable: true,
    },
    { usage: '--concurrency <n>', description: 'how many spaces at a time', default: '4' },
    { usage: '--fail-fast', description: 'start no further space after a failure' },
  ],
  examples: [
    { line: 'partnerctl provision acme.yaml', does: 'one file' },
    { line: 'partnerctl provision customers/ --dry-run', does: 'what a directory of manifests would change' },
    { line: 'partnerctl provision customers.yaml --var REGION=eu -o json', does: 'with a variable, for a script' },
    { line: 'partnerctl provision --schema > manifest.schema.json', does: 'completion and checks in your editor' },
  ],
  parse(words) {
    const mode = modeOf([
      ['check', words.isSet('check')],
      ['dry-run', words.isSet('dry-run')],
      ['schema', words.isSet('schema')],
    ]);
    if (mode !== 'schema' && words.positionals.length === 0) {
      throw new UsageError('No manifest is named.', {
        hint: 'Give a YAML file, a directory, or - for standard input.',
      });
    }
    return {
      files: words.positionals,
      vars: new Map(words.values('var').map(variable)),
      mode,
      concurrency: words.count('concurrency', { min: 1, max: 64, fallback: 4 }),
      failFast: words.isSet('fail-fast'),
    };
  },
  async run(context, input) {
    if (input.mode === 'schema') return schemaText();
    if (input.files.includes('-')) refuseTokenOnStdin(context.flags, 'manifest');
    const documents = await readDocuments(context, input);
    if (input.mode === 'check') return check(context, documents);
    if (input.mode === 'dry-run') return dryRun(context, documents, input.concurrency);
    return apply(context, documents, input);
  },
});
