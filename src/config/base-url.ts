import { UsageError } from '../errors.ts';

/** Whether an address stays on this machine. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname;
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Checks a base address and brings it into one form, without a closing slash.
 * @param from where it came from, for the message
 * @throws UsageError for what is no address, does not end in `/v1`, carries credentials, or is plain http off this machine
 */
export function parseBaseUrl(text: string, from: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new UsageError(`The base address from ${from} is not an https address.`, {
      hint: 'It looks like https://api.example.com/v1.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(`The base address from ${from} holds credentials.`, {
      hint: 'Leave them out; the token comes from PARTNER_TOKEN, --token-file or a profile.',
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new UsageError(`The base address from ${from} holds a query or a fragment.`, {
      hint: `Leave it out: ${url.origin}${url.pathname}`,
    });
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (!path.endsWith('/v1')) {
    throw new UsageError(`The base address from ${from} does not end in /v1: ${url.origin}${path}`, {
      hint: `The version is a part of it; perhaps ${url.origin}${path}/v1`,
    });
  }
  if (url.protocol === 'http:' && !isLoopback(url)) {
    throw new UsageError(`The base address from ${from} is plain http: ${url.origin}${path}`, {
      why: 'The token would travel unencrypted. Plain http is for addresses of this machine only. Nothing was sent.',
      hint: `Use https://${url.host}${path}`,
    });
  }
  return url.origin + path;
}
