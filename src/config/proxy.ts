import { UsageError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import { isLoopback } from './base-url.ts';

/**
 * Returns the proxy for an https service, the hosts to connect to without it, and the environment variable that names it.
 * @returns undefined if no proxy is configured, and for plain http or a service on this machine
 * @throws UsageError for an invalid proxy URL; the message omits the URL, which may contain a password
 */
export function proxyFor(baseUrl: string, env: Environment) {
  const name = env.HTTPS_PROXY ? 'HTTPS_PROXY' : 'https_proxy';
  const address = env[name];
  if (!address || !baseUrl.startsWith('https:') || isLoopback(new URL(baseUrl))) return undefined;
  const url = address.includes('://') ? address : `http://${address}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`${name} is not the URL of an http proxy.`, {
      hint: 'Set it to a URL such as http://proxy.example.com:3128.',
    });
  }
  return { url, noProxy: env.NO_PROXY || env.no_proxy || '', from: name };
}
