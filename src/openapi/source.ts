import { parse } from 'yaml';
import { isLoopback } from '../config/base-url.ts';
import { describeFileError, EXIT, exitCodeOf, InputError, NotFoundError, UsageError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import { decodeText, readFileChunks, readStdin } from '../platform/input.ts';
import type { Io } from '../platform/io.ts';
import { findFlaw, OpenApiError } from './document.ts';
import { type DocumentProposals, proposeFromOpenApi } from './propose.ts';

/** What reading a document needs of a command. */
export interface DocumentContext {
  readonly io: Pick<Io, 'stdin'>;
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  fetchDocument(url: URL): Promise<string>;
}

/** Where a document is: a URL, or the path of a file (`-` for standard input). */
export type DocumentSource = URL | string;

/** The text of a document, and where it is from. */
interface DocumentText {
  readonly name: string;
  readonly text: string;
}

const MAX_MIB = 10;

/**
 * Returns where the document of a service may be, if a URL is the address of the service: below the versioned base or
 * the alias of the latest version (spec §9), or at the root, where frameworks publish it.
 */
function publishedAt({ pathname, origin }: URL): readonly URL[] | undefined {
  const [, root] = /^(.*)\/(?:v1|latest)\/*$/.exec(pathname) ?? (pathname === '/' ? ['', ''] : []);
  if (root === undefined) return undefined;
  const bases = ['/v1', '/latest', ''].map((version) => `${origin}${root}${version}`);
  return bases.flatMap((base) => [new URL(`${base}/openapi.json`), new URL(`${base}/openapi.yaml`)]);
}

/** Parses the argument. @throws UsageError for plain http to another machine, and for credentials in the URL */
export function parseSource(text: string): DocumentSource {
  if (!/^https?:\/\//i.test(text)) return text;
  const hint = 'Download the document yourself, and import the file.';
  if (!URL.canParse(text)) throw new UsageError('The URL of the document is invalid.');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw new UsageError('The URL of the document contains credentials.', { hint });
  if (url.protocol === 'http:' && !isLoopback(url))
    throw new UsageError('The URL of the document uses plain http, which works only for this machine.', { hint });
  return url;
}

/** Downloads the document that a service publishes. @throws NotFoundError if none of the URLs has it */
async function downloadPublished(urls: readonly URL[], context: DocumentContext): Promise<DocumentText> {
  for (const url of urls) {
    try {
      const text = await context.fetchDocument(url);
      // Web applications answer any path with their page.
      if (!text.trimStart().startsWith('<')) return { name: url.href, text };
    } catch (error) {
      // 404, 401, and 403.
      const isAbsent = [EXIT.notFound, EXIT.credentials].some((code) => code === exitCodeOf(error));
      if (!isAbsent) throw error;
    }
  }
  throw new NotFoundError(`The service at ${urls[0]?.origin} publishes no OpenAPI document where it was looked for.`, {
    why: urls.map(({ href }) => href).join('\n'),
    hint: 'Give the URL of the document itself, or a file.',
  });
}

/** Reads a document. @throws InputError if the document cannot be read; the errors of `fetchDocument` */
export async function readSource(source: DocumentSource, context: DocumentContext): Promise<DocumentText> {
  const { abortSignal, io, progress } = context;
  if (source instanceof URL) {
    progress.start('Downloading the document');
    const published = publishedAt(source);
    if (published !== undefined) return downloadPublished(published, context);
    return { name: source.origin + source.pathname, text: await context.fetchDocument(source) };
  }
  const name = source === '-' ? '<stdin>' : source;
  const chunks = source === '-' ? readStdin(io.stdin, abortSignal) : readFileChunks(source, abortSignal);
  try {
    return { name, text: await decodeText(chunks, MAX_MIB) };
  } catch (error) {
    abortSignal.throwIfAborted();
    throw unusable(name, describeFileError(error));
  }
}

function unusable(name: string, why: string): InputError {
  return new InputError(`The document cannot be used: ${name}`, { why, hint: 'Nothing was changed.' });
}

/** Parses JSON, or else YAML, which takes far longer to read. */
function parseDocument({ name, text }: DocumentText): unknown {
  try {
    return JSON.parse(text);
  } catch {}
  try {
    return parse(text, { maxAliasCount: 10_000, logLevel: 'error' });
  } catch (error) {
    throw unusable(name, errorMessage(error));
  }
}

/** Reads the contract values in a document. @throws InputError if the document cannot be used */
export async function readProposals(source: DocumentText): Promise<DocumentProposals> {
  const document = parseDocument(source);
  try {
    const { proposals, questions } = await proposeFromOpenApi(document);
    const flaw = findFlaw(document);
    return { proposals, questions: flaw ? [...questions, `the document is not valid OpenAPI: ${flaw}`] : questions };
  } catch (error) {
    throw error instanceof OpenApiError ? unusable(source.name, `${error.message}.`) : error;
  }
}
