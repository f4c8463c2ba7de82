import type { Environment } from '../cli/io.ts';
import { UsageError } from '../errors.ts';
import { isLoopback } from './base-url.ts';

export interface ProxySettings {
  readonly url: string;
  /** The hosts that are reached without it, in the format of NO_PROXY. */
  readonly noProxy: string;
  /** The environment variable that names it. */
  readonly from: string;
}

/**
 * The proxy through which an https service is reached; a service on this machine is never asked through one. Pure.
 * @returns undefined where there is none
 * @throws UsageError for what is no address of a proxy; the message does not hold it, because it may hold a password
 */
export function proxyFor(baseUrl: string, env: Environment): ProxySettings | undefined {
  const name = env.HTTPS_PROXY ? 'HTTPS_PROXY' : 'https_proxy';
  const given = env[name];
  if (!given || !baseUrl.startsWith('https:') || isLoopback(new URL(baseUrl))) return undefined;
  const url = given.includes('://') ? given : `http://${given}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`${name} is not the address of an http proxy.`, {
      hint: 'It looks like http://proxy.example.com:3128.',
    });
  }
  return { url, noProxy: env.NO_PROXY || env.no_proxy || '', from: name };
}
