import { Http } from '../api/http.ts';
import { type PartnerctlError, RunFailure } from '../errors.ts';
import { clientOptions } from './clients.ts';
import type { Context } from './context.ts';

const ACCEPT = 'application/json, application/yaml, application/vnd.oai.openapi, text/yaml, */*;q=0.1';
const MAX_REDIRECTS = 5;

/** As `Context.fetchDocument` (spec §9). Follows only redirects on the same origin. @throws PartnerctlError by the status */
export async function fetchDocument(context: Context, url: URL): Promise<string> {
  const { origin, pathname, search } = url;
  const http = new Http({ ...clientOptions(context, url), baseUrl: origin, token: undefined, retries: 0 });
  let path = pathname + search;
  for (let redirects = 0; ; redirects += 1) {
    const request = { method: 'GET', path, headers: { accept: ACCEPT } } as const;
    const { response, error } = await http.exchange({ name: `GET ${pathname}`, safety: 'safe', request });
    if (error === undefined) return response.body;
    const location = response && response.status < 400 ? response.headers.location : undefined;
    const from = origin + path;
    const target = location !== undefined && URL.canParse(location, from) ? new URL(location, from) : undefined;
    if (target?.origin !== origin || redirects === MAX_REDIRECTS) throw downloadError(error, origin + pathname);
    path = target.pathname + target.search;
  }
}

function downloadError(error: PartnerctlError, address: string): PartnerctlError {
  return new RunFailure(`Cannot download ${address}.`, error, {
    why: [error.message, error.info.why].filter(Boolean).join('\n'),
    hint: 'Check the address, or download the document yourself, and import the file: no token is sent for it.',
  });
}
