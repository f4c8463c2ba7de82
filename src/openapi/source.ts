import { isLoopback } from '../config/base-url.ts';
import { CredentialsError, describeFileError, InputError, NotFoundError, UsageError } from '../errors.ts';
import { decodeText, readFileChunks, readStdin } from '../platform/input.ts';
import type { Io } from '../platform/io.ts';
import { readDocument } from '../yaml/load.ts';
import { OpenApiError } from './document.ts';
import { type DocumentProposals, proposeFromOpenApi } from './propose.ts';
import { findFlaw } from './validate.ts';

/** What reading a document needs of a command. */
export interface DocumentContext {
  readonly io: Pick<Io, 'stdin'>;
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  fetchDocument(url: URL): Promise<string>;
}

/** Where the command line says that a document is. */
export type DocumentSource =
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'file'; readonly path: string };

/** The text of a document, and where it is from. */
interface DocumentText {
  readonly name: string;
  readonly text: string;
}

const MAX_MIB = 10;

/** What a mistake in the document prevents. */
const UNCHANGED = 'nothing was changed';

const PUBLISHED = ['openapi.json', 'openapi.yaml'];

/**
 * Returns where the document of a service may be, if a URL is the address of the service: below the versioned base, below
 * the alias of the latest version (spec §9), or at the root, where frameworks publish it by default.
 * @returns undefined if the URL is that of a document
 */
export function publishedAt(url: URL): readonly URL[] | undefined {
  const path = url.pathname.replace(/\/+$/, '');
  const [, root = path, version] = /^(.*)\/(v\d+|latest)$/.exec(path) ?? [];
  if (version === undefined && path !== '') return undefined;
  const bases = new Set([version ?? 'v1', 'v1', 'latest'].map((name) => `${root}/${name}`)).add(root);
  return [...bases].flatMap((base) => PUBLISHED.map((file) => new URL(`${base}/${file}`, url.origin)));
}

/** Parses the argument. @throws UsageError for plain http to another machine, and for credentials in the URL */
export function parseSource(text: string): DocumentSource {
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

/** Downloads the document that a service publishes. @throws NotFoundError or CredentialsError if none of the URLs has it */
async function downloadPublished(urls: readonly URL[], context: DocumentContext): Promise<DocumentText> {
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

/** Reads a document. @throws InputError if the document cannot be read; the errors of `fetchDocument` */
export async function readSource(source: DocumentSource, context: DocumentContext): Promise<DocumentText> {
  if (source.kind === 'url') {
    const { url } = source;
    context.progress.start('Downloading the document');
    const published = publishedAt(url);
    if (published !== undefined) return downloadPublished(published, context);
    return { name: url.origin + url.pathname, text: await context.fetchDocument(url) };
  }
  const { abortSignal, io } = context;
  const name = source.path === '-' ? '<stdin>' : source.path;
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

/** Reads the contract values in a document. @throws InputError with line and column if the document cannot be used */
export async function readProposals(source: DocumentText, basePath: string): Promise<DocumentProposals> {
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
