/**
 * The parts of undici that the transport needs. The package's main file also loads fetch, WebSocket, the cache and
 * more, which doubles the start-up time of every command.
 */

import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import type { buildConnector, Dispatcher, Pool as PoolType } from 'undici';
import requestModule, { type RequestOptions } from 'undici/lib/api/api-request.js';
import buildConnectorModule from 'undici/lib/core/connect.js';
import AgentModule from 'undici/lib/dispatcher/agent.js';

export type { Dispatcher } from 'undici';

/**
 * Lets a socket that can no longer be written to be read to its end. A service that refuses a large body may answer and close
 * the connection while it is still being sent to: the answer has come, and only the write fails. The write is left open then;
 * what is read, or the end of it, ends the exchange.
 * @param onWrite told of all that is written, before it is
 */
function readOnAfterWrites(socket: Socket, onWrite: (chunk: unknown) => void): void {
  type Done = (error?: Error | null) => void;
  const unlessFailed =
    (done: Done): Done =>
    (error) => {
      if (!error) done();
    };
  const [write, writev] = [socket._write.bind(socket), socket._writev?.bind(socket)];
  socket._write = (chunk, encoding, done) => {
    onWrite(chunk);
    write(chunk, encoding, unlessFailed(done));
  };
  if (!writev) return;
  socket._writev = (chunks, done) => {
    for (const { chunk } of chunks) onWrite(chunk);
    writev(chunks, unlessFailed(done));
  };
}

/** What undici writes in one piece, and as text; bodies are bytes, or JSON. */
const REQUEST_HEAD = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/;

const OPENING = 'HTTP/1.1 100';
const CONTINUE = /^HTTP\/1\.1 100[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n/;
const LONGEST = 16_384;

/**
 * Leaves `100 Continue` out of what is read: a service may send it before its answer although nobody asked (RFC 9110,
 * 15.2), and undici takes it for an error. Looked for only where an answer begins.
 * @param readNext gives the bytes that have come since it was last called, or null
 */
export function withoutContinue(readNext: () => Buffer | null) {
  let held: Buffer | undefined;
  let isAwaited = true;
  return {
    /** To be told of all that is written. */
    onWrite(chunk: unknown): void {
      if (typeof chunk === 'string' && REQUEST_HEAD.test(chunk)) isAwaited = true;
    },
    read(): Buffer | null {
      const chunk = readNext();
      if (chunk === null || !isAwaited) return chunk;
      let bytes = held === undefined ? chunk : Buffer.concat([held, chunk]);
      held = undefined;
      while (OPENING.startsWith(bytes.toString('latin1', 0, OPENING.length))) {
        const head = bytes.toString('latin1', 0, LONGEST);
        const [interim] = CONTINUE.exec(head) ?? [];
        if (interim === undefined) {
          // More of it may come, or of the answer itself where only its first bytes are here.
          if (head.length === LONGEST) break;
          held = bytes;
          return null;
        }
        bytes = bytes.subarray(interim.length);
      }
      isAwaited = false;
      return bytes;
    },
  };
}

function readingOn(connect: buildConnector.connector): buildConnector.connector {
  return (where, callback) =>
    connect(where, (...result) => {
      const [error, socket] = result;
      if (!error) {
        const answers = withoutContinue(socket.read.bind(socket));
        socket.read = answers.read;
        readOnAfterWrites(socket, answers.onWrite);
      }
      callback(...result);
    });
}

function connectorThatReadsOn(options: buildConnector.BuildOptions): buildConnector.connector {
  return readingOn(buildConnectorModule(options));
}

/**
 * Why a proxy made no tunnel, in words and with a code of ours. undici takes a connection that was closed for one that a new
 * one mends, and makes that at once: a proxy that closes each of them would be called thousands of times a second.
 */
function proxyFailure(error: Error): Error {
  const [, status] = /^Proxy response \((\d+)\)/.exec(error.message) ?? [];
  if (status !== undefined) {
    const refused = new Error(`the proxy made no connection: it answered ${status}`, { cause: error });
    return Object.assign(refused, { code: status.startsWith('4') ? 'PROXY_REFUSED' : 'PROXY_FAILED' });
  }
  if (!('code' in error) || error.code !== 'UND_ERR_SOCKET') return error;
  const closed = new Error('the proxy closed the connection before it had answered', { cause: error });
  return Object.assign(closed, { code: 'PROXY_CLOSED' });
}

function throughProxy(connect: buildConnector.connector): buildConnector.connector {
  return readingOn((where, callback) =>
    connect(where, (...result) => {
      const [error] = result;
      if (error) callback(proxyFailure(error), null);
      else callback(...result);
    }),
  );
}

/**
 * A connection pool of our own: nothing else in the process can change it.
 * @param connect how connections are made
 */
export function createAgent(connect: buildConnector.BuildOptions): Dispatcher {
  // Optimising undici's WebAssembly parser takes longer than most commands run, and their exit would wait for it.
  setFlagsFromString('--liftoff-only');
  return new AgentModule({ connect: connectorThatReadsOn(connect) });
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
  const { EnvHttpProxyAgent, Pool } = await import('undici');
  const factory = (origin: string | URL, { connect, ...others }: PoolType.Options): Dispatcher => {
    const made =
      typeof connect === 'function' ? throughProxy(connect) : connectorThatReadsOn(connect ?? options.connect);
    return new Pool(origin, { ...others, connect: made });
  };
  // Left to itself, it would look for a proxy for plain http in the environment of the process.
  return new EnvHttpProxyAgent({ ...options, httpProxy: '', factory });
}
