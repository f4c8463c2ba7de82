import { UsageError } from '../errors.ts';

/** Whether a URL points to this machine. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname;
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Validates a base URL and removes trailing slashes.
 * @param from the setting that contains the URL, for error messages
 * @throws UsageError unless it ends in `/v1`, has no credentials, query, or fragment, and uses https (or is loopback)
 */
export function parseBaseUrl(text: string, from: string): string {
  const failure = (what: string, hint: string, why?: string) =>
    new UsageError(`The base URL from ${from} ${what}`, { why, hint });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw failure('is not an https URL.', 'Use a URL such as https://api.example.com/v1.');
  }
  const { origin, pathname, username, password, search, hash } = url;
  if (username !== '' || password !== '' || search !== '' || hash !== '') {
    throw failure('has credentials, a query, or a fragment.', `Use ${origin}${pathname}`);
  }
  const path = pathname.replace(/\/+$/, '');
  if (!path.endsWith('/v1')) {
    // A path that ends in another version names the API already.
    const base = path.replace(/\/v\d+$/, '');
    throw failure(`does not end in /v1: ${origin}${path}`, `Did you mean ${origin}${base}/v1?`);
  }
  if (url.protocol === 'http:' && !isLoopback(url)) {
    const why = 'The token would travel unencrypted. Plain http works only for this machine. Nothing was sent.';
    throw failure(`uses plain http: ${origin}${path}`, `Use https://${url.host}${path}`, why);
  }
  return origin + path;
}
