import { createHash } from 'node:crypto';
import { type Args, command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { refuseTokenOnStdin } from '../../cli/input.ts';
import { isLoopback } from '../../config/base-url.ts';
import { readContractLayers, type StoredContract, updateContract } from '../../config/contract-file.ts';
import { findLeaf } from '../../config/find-leaf.ts';
import type { LeafName } from '../../contract/leaves.ts';
import { CredentialsError, describeFileError, InputError, NotFoundError, UsageError } from '../../errors.ts';
import { compareProposals, type ProposedChange } from '../../openapi/changes.ts';
import { OpenApiError } from '../../openapi/document.ts';
import { type DocumentProposals, proposeFromOpenApi } from '../../openapi/propose.ts';
import { publishedAt } from '../../openapi/published.ts';
import { findFlaw } from '../../openapi/validate.ts';
import { type Column, type CommandResult, listResult, type Tone } from '../../output/command-result.ts';
import { decodeText, readFileChunks, readStdin } from '../../platform/input.ts';

type Source = { readonly kind: 'url'; readonly url: URL } | { readonly kind: 'file'; readonly path: string };

interface Input {
  readonly source: Source;
  readonly only: readonly LeafName[];
  readonly yes: boolean;
  readonly accept: boolean;
}

/** The text of a document, and where it is from. */
interface DocumentText {
  readonly name: string;
  readonly text: string;
}

const MAX_MIB = 10;

/** What a mistake in the document prevents. */
const UNCHANGED = 'nothing was changed';

const TONES: Readonly<Record<ProposedChange['status'], Tone>> = {
  change: 'good',
  conflict: 'bad',
  overridden: 'warn',
};

const COLUMNS: readonly Column<ProposedChange>[] = [
  { header: 'LEAF', value: ({ leaf }) => leaf },
  { header: 'OLD', value: ({ old }) => old },
  { header: 'NEW', value: (change) => change.new },
  { header: 'SOURCE', value: ({ old_source }) => old_source, tone: () => 'dim' },
  { header: 'STATUS', value: ({ status }) => status, tone: ({ status }) => TONES[status] },
  { header: 'EVIDENCE', value: ({ evidence }) => evidence, tone: () => 'dim', fit: 'below' },
];

/** @throws UsageError for plain http to another machine, and for credentials in the URL */
function parseSource(text: string): Source {
  if (!/^https?:\/\//i.test(text)) return { kind: 'file', path: text };
  if (!URL.canParse(text)) throw new UsageError('The URL of the document is invalid.');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('The URL of the document contains credentials.', {
      hint: 'Download the document yourself, and import the file.',
    });
  }
  if (url.protocol === 'http:' && !isLoopback(url)) {
    throw new UsageError('The URL of the document uses plain http.', {
      why: 'Anyone on the network could change what partnerctl sends, and where. Plain http works only for this machine.',
      hint: `Use https://${url.host}${url.pathname}`,
    });
  }
  return { kind: 'url', url };
}

function parse(args: Args): Input {
  return {
    source: parseSource(args.positionals[0] ?? ''),
    only: args.values('only').map(findLeaf),
    yes: args.isSet('yes'),
    accept: args.isSet('accept'),
  };
}

/** Downloads the document that a service publishes. @throws NotFoundError or CredentialsError if none of the URLs has it */
async function downloadPublished(urls: readonly URL[], context: Context): Promise<DocumentText> {
  let refusal: CredentialsError | undefined;
  for (const url of urls) {
    try {
      const text = await context.fetchDocument(url);
      // Web applications answer any path with their page.
      if (!text.trimStart().startsWith('<')) return { name: url.href, text };
    } catch (error) {
      if (error instanceof CredentialsError) refusal ??= error;
      else if (!(error instanceof NotFoundError)) throw error;
    }
  }
  if (refusal !== undefined) throw refusal;
  throw new NotFoundError(`The service at ${urls[0]?.origin} publishes no OpenAPI document where it was looked for.`, {
    why: urls.map(({ href }) => href).join('\n'),
    hint: 'Give the URL of the document itself, or a file.',
  });
}

/** @throws InputError if the document cannot be read; the errors of `fetchDocument` */
async function readSource(source: Source, context: Context): Promise<DocumentText> {
  if (source.kind === 'url') {
    const { url } = source;
    context.progress.start('Downloading the document');
    const published = publishedAt(url);
    if (published !== undefined) return downloadPublished(published, context);
    return { name: url.origin + url.pathname, text: await context.fetchDocument(url) };
  }
  const { abortSignal, flags, io } = context;
  const name = source.path === '-' ? '<stdin>' : source.path;
  if (source.path === '-') refuseTokenOnStdin(flags, 'document');
  const chunks = source.path === '-' ? readStdin(io.stdin, abortSignal) : readFileChunks(source.path, abortSignal);
  try {
    return { name, text: await decodeText(chunks, MAX_MIB) };
  } catch (error) {
    abortSignal.throwIfAborted();
    throw new InputError(`The document cannot be read from ${name}.`, {
      why: describeFileError(error),
      hint: 'Nothing was changed.',
    });
  }
}

/** The value of a JSON text; undefined for YAML, which takes far longer to read. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws InputError with line and column if the document cannot be used */
async function readProposals(source: DocumentText, basePath: string): Promise<DocumentProposals> {
  const { readDocument } = await import('../../yaml/load.ts');
  const document = parseJson(source.text) ?? readDocument(source, UNCHANGED).value;
  try {
    const read = await proposeFromOpenApi(document, basePath);
    const flaw = findFlaw(document);
    const doubts = flaw === undefined ? [] : [{ leaf: null, message: `the document is not valid OpenAPI: ${flaw}` }];
    return { ...read, questions: [...read.questions, ...doubts] };
  } catch (error) {
    if (!(error instanceof OpenApiError)) throw error;
    throw readDocument(source, UNCHANGED).error(error.pointer, UNCHANGED, error.message, error.hint);
  }
}

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`;
}

function withStatus(changes: readonly ProposedChange[], wanted: ProposedChange['status']): readonly ProposedChange[] {
  return changes.filter(({ status }) => status === wanted);
}

function conflictError(conflicts: readonly ProposedChange[]): UsageError {
  const values = count(conflicts.length, 'value of the document contradicts', 'values of the document contradict');
  return new UsageError(`${values} the specification. Nothing was written.`, {
    why: conflicts.map(({ leaf, old, new: value }) => `${leaf}: ${old} → ${value}`).join('\n'),
    hint: 'If the document is right, add --accept. To import only some of its values, add --only <leaf>.',
    details: { conflicts },
  });
}

/**
 * Decides whether to write: --yes, or a yes at the prompt, which shows the conflicts.
 * @throws UsageError for conflicts without --accept
 */
async function mayWrite(
  changes: readonly ProposedChange[],
  { yes, accept }: Input,
  context: Context,
): Promise<boolean> {
  const conflicts = accept ? [] : withStatus(changes, 'conflict');
  if (yes && conflicts.length > 0) throw conflictError(conflicts);
  if (yes || changes.length === 0 || !context.isInteractive) return yes;
  for (const { leaf, old, new: value } of changes) await context.notice(`${leaf}: ${old} → ${value}`);
  const verb = conflicts.length === 1 ? 'contradicts' : 'contradict';
  const contradicting = conflicts.length === 0 ? '' : `, of which ${conflicts.length} ${verb} the specification`;
  return context.confirm(`Write ${count(changes.length, 'value', 'values')}${contradicting}?`);
}

/** @param unchanged how many of the written values the contract had already; undefined if nothing was written */
function summarize(changes: readonly ProposedChange[], unchanged: number | undefined): string {
  if (changes.length === 0) return 'Nothing to change: the contract agrees with the document.';
  const values = count(changes.length, 'value', 'values');
  if (unchanged === undefined) {
    const conflicts = withStatus(changes, 'conflict').length;
    const accept = conflicts > 0 ? `, and --accept for the ${conflicts} that contradict the specification` : '';
    return `Nothing was written. Add --yes to write ${values}${accept}.`;
  }
  const others = unchanged > 0 ? `, and ${count(unchanged, 'that agrees', 'that agree')} with the contract` : '';
  return `Wrote ${values}${others}. All imported values: partnerctl contract show --source imported`;
}

/** Says which overrides hide imported values. */
function summarizeOverridden(changes: readonly ProposedChange[]): string | undefined {
  const leaves = withStatus(changes, 'overridden').map(({ leaf }) => leaf);
  if (leaves.length === 0) return undefined;
  const stay = leaves.length === 1 ? 'stays as you set it' : 'stay as you set them';
  return `${leaves.join(', ')} ${stay}. To use the document: partnerctl contract unset ${leaves.length === 1 ? leaves[0] : '<leaf>'}`;
}

async function run(context: Context, input: Input): Promise<CommandResult> {
  const { config, clock } = context;
  const key = await context.contractKey();
  const source = await readSource(input.source, context);
  const { title, version, proposals, missing, questions } = await readProposals(source, new URL(key.baseUrl).pathname);
  const chosen = proposals.filter(({ leaf }) => input.only.length === 0 || input.only.includes(leaf));
  const { changes, confirmed } = compareProposals(
    chosen,
    await readContractLayers(config.directory, key, context.warn),
  );
  const from = source.name;
  const sha256 = createHash('sha256').update(source.text).digest('hex');
  const isWritten = await mayWrite(changes, input, context);
  if (isWritten) {
    const values = Object.fromEntries(chosen.map(({ leaf, value }) => [leaf, value]));
    const document = { from, sha256, imported_at: new Date(clock.now()).toISOString() };
    const change = (stored: StoredContract) => ({ ...stored, imported: { ...stored.imported, ...values }, document });
    await updateContract(config.directory, key, change, { clock, random: context.random, signal: context.abortSignal });
  }
  if (missing.length > 0) await context.notice(`open: the document has no operation for ${missing.join(', ')}`);
  for (const { message } of questions) await context.notice(`open: ${message}`);
  await context.notice(summarize(changes, isWritten ? confirmed.length : undefined));
  const overridden = summarizeOverridden(changes);
  if (overridden !== undefined) await context.notice(overridden);
  const document = { from, title: title ?? null, version: version ?? null, sha256 };
  return listResult(changes, COLUMNS, {
    empty: '',
    document: () => ({ document, written: isWritten, changes, confirmed, missing, questions }),
  });
}

export default command<Input>({
  description:
    "Reads the wire format from the service's OpenAPI 3.0 or 3.1 document (JSON or YAML) and shows what would change. Writes only with --yes, or after a yes at the prompt. Downloads the document without sending a token.",
  args: [
    {
      usage: '<file|url>',
      description:
        'the document: a file, - for standard input, an https URL, or the address of the service that publishes it',
    },
  ],
  flags: [
    { usage: '--yes', description: 'write the changes' },
    { usage: '--accept', description: 'also accept values that contradict the specification' },
    { usage: '--only <leaf>', description: 'import only this value; repeatable', repeatable: true },
  ],
  columns: COLUMNS,
  exits: ['credentials', 'notFound', 'service'],
  examples: [
    { line: 'partnerctl contract import openapi.json', does: 'show what the document would change' },
    { line: 'partnerctl contract import https://api.example.com/v1 --yes', does: 'import what the service publishes' },
    {
      line: 'partnerctl contract import openapi.yaml --yes --accept',
      does: 'also where it contradicts the specification',
    },
  ],
  parse,
  run,
});
