import { versions } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import type { buildConnector, Dispatcher } from 'undici';
import connect from 'undici/lib/api/api-connect.js';
import request from 'undici/lib/api/api-request.js';
import createConnector from 'undici/lib/core/connect.js';
import DispatcherClass from 'undici/lib/dispatcher/dispatcher.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { errorCode } from '../platform/error-code.ts';
import { MAX_RESPONSE_BYTES } from './encoded-body.ts';

/*
 * undici's main file also loads fetch, WebSocket, caches, and mocks, which takes 20 ms of every call. So the modules
 * that are used are imported by their paths, and dispatchers get their methods here, as they do in the main file.
 */
Object.assign(DispatcherClass.prototype, { connect, request });

// Node 20 optimizes undici's WebAssembly parser at the first response, which the exit waits for: 100 ms of every call.
if (versions.node.startsWith('20.')) setFlagsFromString('--wasm-tiering-budget=200000000');

export interface HttpsProxy {
  readonly url: string;
  /** Hosts that bypass the proxy, in the format of NO_PROXY. */
  readonly noProxy: string;
  readonly from: string;
}

/** How long a connection may take. */
export const CONNECT_TIMEOUT_MS = 10_000;

const CONNECT = { timeout: CONNECT_TIMEOUT_MS };
const LIMITS = { maxResponseSize: MAX_RESPONSE_BYTES };

/** Returns what opens private pools of connections to an origin. Without a proxy, all of them share TLS sessions. */
export function dispatcherOpener(origin: string, proxy: HttpsProxy | undefined): () => Dispatcher {
  if (proxy) return () => createProxyAgent(proxy);
  const connector = createConnector(CONNECT);
  return () => new Pool(origin, { ...LIMITS, connect: connector });
}

function createProxyAgent(proxy: HttpsProxy): Dispatcher {
  const factory = (origin: string | URL, options: Pool.Options): Dispatcher =>
    new Pool(origin, {
      ...options,
      ...LIMITS,
      connect: typeof options.connect === 'function' ? nameProxyErrors(options.connect, proxy) : CONNECT,
    });
  // If `httpProxy` were missing, the agent would read the proxy from the environment.
  const proxies = { httpsProxy: proxy.url, noProxy: proxy.noProxy, httpProxy: '' };
  return new EnvHttpProxyAgent({ ...proxies, connect: CONNECT, factory });
}

/** Codes of failures to reach the proxy. Errors with other codes come from the TLS connection to the service. */
const UNREACHABLE =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|UND_ERR_SOCKET)$/;

/**
 * Names the proxy in tunnel errors. The code must change, too: after UND_ERR_SOCKET, undici reconnects at once, thousands
 * of times per second if the proxy closes every connection.
 */
function nameProxyErrors(connect: buildConnector.connector, proxy: HttpsProxy): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) =>
      callback(...(result[0] ? ([toProxyError(result[0], proxy), null] as const) : result)),
    );
}

/** Returns the error for a tunnel that was not opened, so that the request never left this machine; any other as it is. */
function toProxyError(error: Error, { url, from }: HttpsProxy): Error {
  const [, status] = /^Proxy response \((\d+)\)/.exec(error.message) ?? [];
  const code = String(errorCode(error));
  if (status === undefined && !UNREACHABLE.test(code)) return error;
  const { protocol, host } = new URL(url);
  const problem = code === 'ECONNREFUSED' ? 'refused the connection' : `cannot be reached (${code})`;
  const what = status === undefined ? problem : `answered ${status}`;
  const named = new Error(`The proxy ${protocol}//${host} (from ${from}) ${what}`, { cause: error });
  // A 4xx is not worth a retry.
  return Object.assign(named, { code: status?.startsWith('4') ? 'PROXY_REFUSED' : 'PROXY_FAILED' });
}
