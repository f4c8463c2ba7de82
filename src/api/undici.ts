/**
 * The two parts of undici that the transport needs. The package's main file also loads fetch, WebSocket, the cache and
 * more, which doubles the start-up time of every command.
 */
import { setFlagsFromString } from 'node:v8';
import type { Agent as AgentType, Dispatcher } from 'undici';
import requestModule, { type RequestOptions } from 'undici/lib/api/api-request.js';
import AgentModule from 'undici/lib/dispatcher/agent.js';

export type { Dispatcher } from 'undici';

/** A connection pool of our own: nothing else in the process can change it. */
export function createAgent(options: AgentType.Options): Dispatcher {
  // Optimising undici's WebAssembly parser takes longer than most commands run, and their exit would wait for it.
  setFlagsFromString('--liftoff-only');
  return new AgentModule(options);
}

/** One request on a dispatcher. No redirects, no retries, no decompression. */
export function dispatchRequest(dispatcher: Dispatcher, options: RequestOptions): Promise<Dispatcher.ResponseData> {
  return requestModule.call(dispatcher, options);
}

/** A dispatcher that reaches https services through the proxy; loaded only where there is one. */
export async function createProxyAgent(options: {
  httpsProxy: string;
  noProxy: string;
  connect: { timeout: number };
}): Promise<Dispatcher> {
  const { EnvHttpProxyAgent } = await import('undici');
  // Left to itself, it would look for a proxy for plain http in the environment of the process.
  return new EnvHttpProxyAgent({ ...options, httpProxy: '' });
}
