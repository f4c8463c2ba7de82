import { isLoopback } from '../config/base-url.ts';
import { EXIT, exitCodeOf, NotFoundError, UsageError } from '../errors.ts';
import type { Io } from '../platform/io.ts';
import { readSource } from '../yaml/sources.ts';

export interface DocumentContext {
  readonly io: Pick<Io, 'stdin'>;
  readonly abortSignal: AbortSignal;
  readonly progress: { start(text: string): void };
  fetchDocument(url: URL): Promise<string>;
}

function parseUrl(text: string): URL {
  if (!URL.canParse(text)) throw new UsageError('The URL of the document is invalid.');
  const url = new URL(text);
  const isPlain = url.protocol === 'http:' && !isLoopback(url);
  if (url.username === '' && url.password === '' && !isPlain) return url;
  throw new UsageError('The URL of the document has credentials, or plain http, which works only for this machine.', {
    hint: 'Download the document yourself, and import the file.',
  });
}

/** Returns where a service may publish its document (spec §9; frameworks: at the root), if this is its address. */
function publishedAt({ pathname, origin }: URL): readonly URL[] | undefined {
  const [, root] = /^(.*)\/(?:v1|latest)\/*$/.exec(pathname) ?? (pathname === '/' ? ['', ''] : []);
  if (root === undefined) return undefined;
  const bases = ['/v1', '/latest', ''].map((version) => `${origin}${root}${version}`);
  return bases.flatMap((base) => [new URL(`${base}/openapi.json`), new URL(`${base}/openapi.yaml`)]);
}

async function downloadPublished(urls: readonly URL[], context: DocumentContext) {
  for (const url of urls) {
    try {
      const text = await context.fetchDocument(url);
      // Web applications answer any path with their page.
      if (!text.trimStart().startsWith('<')) return { from: url.href, text };
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

/** Reads a document from https, the address of the service, a file, or `-`. @throws UsageError, InputError */
export async function readOpenApi(source: string, context: DocumentContext) {
  const { abortSignal, io, progress } = context;
  if (/^https?:\/\//i.test(source)) {
    const url = parseUrl(source);
    progress.start('Downloading the document');
    const published = publishedAt(url);
    if (published !== undefined) return downloadPublished(published, context);
    return { from: url.origin + url.pathname, text: await context.fetchDocument(url) };
  }
  const { name: from, text } = await readSource(source, io.stdin, abortSignal);
  return { from, text };
}
