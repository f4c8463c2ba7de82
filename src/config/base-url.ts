import { UsageError } from '../errors.ts';

/** Whether a URL points to this machine. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname;
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Validates a base URL and removes trailing slashes.
 * @param from the setting that contains the URL, for error messages
 * @throws UsageError unless the URL ends in `/v1`, has no credentials, query, or fragment, and uses https (or is
 * loopback)
 */
export function parseBaseUrl(text: string, from: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new UsageError(`The base URL from ${from} is not an https URL.`, {
      hint: 'Use a URL such as https://api.example.com/v1.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(`The base URL from ${from} contains credentials.`, {
      hint: 'Remove them. The token comes from PARTNER_TOKEN, --token-file, or a profile.',
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new UsageError(`The base URL from ${from} has a query or a fragment.`, {
      hint: `Use ${url.origin}${url.pathname}`,
    });
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (!path.endsWith('/v1')) {
    // A path that ends in another version names the API already.
    const base = path.replace(/\/v\d+$/, '');
    throw new UsageError(`The base URL from ${from} does not end in /v1: ${url.origin}${path}`, {
      hint: `Did you mean ${url.origin}${base}/v1?`,
    });
  }
  if (url.protocol === 'http:' && !isLoopback(url)) {
    throw new UsageError(`The base URL from ${from} uses plain http: ${url.origin}${path}`, {
      why: 'The token would travel unencrypted. Plain http works only for this machine. Nothing was sent.',
      hint: `Use https://${url.host}${path}`,
    });
  }
  return url.origin + path;
}
