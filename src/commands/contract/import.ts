import { createHash } from 'node:crypto';
import { type Args, command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { decodeText, readFileChunks, readStdin, refuseTokenOnStdin } from '../../cli/input.ts';
import { isLoopback } from '../../config/base-url.ts';
import { readContractLayers, type StoredContract, updateContract } from '../../config/contract-file.ts';
import type { LeafName } from '../../contract/leaves.ts';
import { OpenApiError } from '../../contract/openapi/document.ts';
import { type DocumentProposals, proposeFromOpenApi } from '../../contract/openapi/propose.ts';
import { compareProposals } from '../../contract-changes/compare-proposals.ts';
import { findLeaf } from '../../contract-changes/find-leaf.ts';
import { CHANGE_COLUMNS, mayWrite, summarizeReview } from '../../contract-changes/review.ts';
import { describeFileError, InputError, UsageError } from '../../errors.ts';
import { type CommandResult, listResult } from '../../output/command-result.ts';

type Source = { readonly kind: 'url'; readonly url: URL } | { readonly kind: 'file'; readonly path: string };

interface Input {
  readonly source: Source;
  readonly only: readonly LeafName[];
  readonly yes: boolean;
  readonly accept: boolean;
}

const MAX_MIB = 10;

/** @throws UsageError for plain http to another machine, and for credentials in the URL */
function parseDocumentSource(text: string): Source {
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
    source: parseDocumentSource(args.positionals[0] ?? ''),
    only: args.values('only').map(findLeaf),
    yes: args.isSet('yes'),
    accept: args.isSet('accept'),
  };
}

function nameOf(source: Source): string {
  if (source.kind === 'url') return source.url.origin + source.url.pathname;
  return source.path === '-' ? '<stdin>' : source.path;
}

/** @throws InputError if the document cannot be read; the errors of `fetchDocument` */
async function readSource(source: Source, context: Context): Promise<string> {
  if (source.kind === 'url') {
    context.progress.start('Downloading the document');
    return context.fetchDocument(source.url);
  }
  const { abortSignal, flags, io } = context;
  if (source.path === '-') refuseTokenOnStdin(flags, 'document');
  const chunks = source.path === '-' ? readStdin(io.stdin, abortSignal) : readFileChunks(source.path, abortSignal);
  try {
    return await decodeText(chunks, MAX_MIB);
  } catch (error) {
    abortSignal.throwIfAborted();
    throw new InputError(`The document cannot be read from ${nameOf(source)}.`, {
      why: describeFileError(error),
      hint: 'Nothing was changed.',
    });
  }
}

/** @throws InputError with line and column if the document cannot be used */
async function readProposals(name: string, text: string, basePath: string): Promise<DocumentProposals> {
  const { readPlainDocument } = await import('../../yaml/plain-document.ts');
  const document = readPlainDocument({ name, text });
  try {
    return proposeFromOpenApi(document.value, basePath);
  } catch (error) {
    if (!(error instanceof OpenApiError)) throw error;
    throw document.error(error.pointer, error.message, error.hint);
  }
}

async function run(context: Context, input: Input): Promise<CommandResult> {
  const { config, clock } = context;
  const key = await context.contractKey();
  const name = nameOf(input.source);
  const text = await readSource(input.source, context);
  const { title, version, proposals, missing, questions } = await readProposals(
    name,
    text,
    new URL(key.baseUrl).pathname,
  );
  const chosen = proposals.filter(({ leaf }) => input.only.length === 0 || input.only.includes(leaf));
  const { changes, confirmed } = compareProposals(chosen, await readContractLayers(config.directory, key));
  const sha256 = createHash('sha256').update(text).digest('hex');
  const isWritten = await mayWrite(changes, input, context);
  if (isWritten) {
    const values = Object.fromEntries(chosen.map(({ leaf, value }) => [leaf, value]));
    const document = { from: name, sha256, imported_at: new Date(clock.now()).toISOString() };
    const change = (stored: StoredContract) => ({ ...stored, imported: { ...stored.imported, ...values }, document });
    await updateContract(config.directory, key, change, { clock, random: context.random, signal: context.abortSignal });
  }
  if (missing.length > 0) await context.notice(`open: the document has no operation for ${missing.join(', ')}`);
  for (const { message } of questions) await context.notice(`open: ${message}`);
  await context.notice(summarizeReview(changes, isWritten ? confirmed.length : undefined));
  const document = { from: name, title: title ?? null, version: version ?? null, sha256 };
  return listResult(changes, CHANGE_COLUMNS, {
    empty: '',
    document: () => ({ document, written: isWritten, changes, confirmed, missing, questions }),
  });
}

export default command<Input>({
  description:
    "Reads the wire format from the service's OpenAPI 3.0 or 3.1 document (JSON or YAML) and shows what would change. Writes only with --yes, or after a yes at the prompt. Downloads the document without sending a token.",
  args: [{ usage: '<file|url>', description: 'the document: a file, - for standard input, or an https URL' }],
  flags: [
    { usage: '--yes', description: 'write the changes' },
    { usage: '--accept', description: 'also accept values that contradict the specification' },
    { usage: '--only <leaf>', description: 'import only this value; repeatable', repeatable: true },
  ],
  columns: CHANGE_COLUMNS,
  output: async () => (await import('../../output-schemas/contract.ts')).CONTRACT_IMPORT,
  exits: ['credentials', 'notFound', 'service'],
  examples: [
    { line: 'partnerctl contract import openapi.json', does: 'show what the document would change' },
    { line: 'partnerctl contract import https://api.example.com/v1/openapi.json --yes', does: 'import it' },
    {
      line: 'partnerctl contract import openapi.yaml --yes --accept',
      does: 'also where it contradicts the specification',
    },
  ],
  parse,
  run,
});
