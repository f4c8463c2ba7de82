import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Clock } from '../../src/clock.ts';
import { systemClock } from '../../src/clock.ts';
import { readLog } from '../../src/state/log.ts';
import { sendJson } from '../helpers/fake-service.ts';
import { hasty, type Ran, type RunOptions, tempDirectory } from '../helpers/run.ts';
import { type Listening, listen } from '../helpers/tcp-server.ts';
import { partnerctl } from './client.ts';

/** One request, from its headers on. */
export interface Coming {
  readonly headers: IncomingMessage['headers'];
  readonly path: string;
  /** Of the body, so far. */
  bytes(): number;
  body(): Buffer;
  /** Resolves once so many bytes of the body came. */
  reached(bytes: number): Promise<void>;
  /** Resolves once all of it came. */
  readonly whole: Promise<void>;
  /** Resolves once the connection is closed. */
  readonly closed: Promise<void>;
  isWhole(): boolean;
  pause(): void;
  resume(): void;
}

/** Answers, or does not; `count` is the number of the request, from 1. */
export type Reaction = (coming: Coming, response: ServerResponse, count: number) => unknown;

interface UploadServer extends Listening {
  readonly requests: Coming[];
  /** Resolves once all of a request is waited for. */
  readonly restWanted: Promise<void>;
}

/** What comes in is kept up to here; more is only counted. */
const KEPT_BYTES = 1_000_000;

function coming(request: IncomingMessage, wantRest: () => void): Coming {
  let bytes = 0;
  let isWhole = false;
  const kept: Buffer[] = [];
  const waiting: { bytes: number; resolve: () => void }[] = [];
  request.on('data', (chunk: Buffer) => {
    if (bytes < KEPT_BYTES) kept.push(chunk);
    bytes += chunk.length;
    for (const each of waiting) if (bytes >= each.bytes) each.resolve();
  });
  request.on('error', () => undefined);
  const whole = new Promise<void>((resolve) => {
    request.on('end', () => {
      isWhole = true;
      resolve();
    });
  });
  return {
    headers: request.headers,
    path: request.url ?? '',
    bytes: () => bytes,
    body: () => Buffer.concat(kept),
    reached: (wanted) => new Promise((resolve) => waiting.push({ bytes: wanted, resolve })),
    get whole() {
      wantRest();
      return whole;
    },
    closed: new Promise((resolve) => request.socket.on('close', () => resolve())),
    isWhole: () => isWhole,
    pause: () => request.pause(),
    resume: () => request.resume(),
  };
}

/** A service that can be as bad as a test wants while a body is still coming. */
export async function uploadServer(react: Reaction): Promise<UploadServer> {
  const requests: Coming[] = [];
  let wantRest = (): void => undefined;
  const restWanted = new Promise<void>((resolve) => {
    wantRest = resolve;
  });
  const server = createServer((request, response) => {
    const one = coming(request, wantRest);
    requests.push(one);
    response.on('error', () => undefined);
    void react(one, response, requests.length);
  });
  return { ...(await listen(server)), requests, restWanted };
}

/** As a service should: it reads all, and gives an id. */
export const accept: Reaction = async (coming, response, count) => {
  await coming.whole;
  sendJson(response, { file_attachment_id: `att_${count}` }, 201);
};

/** The first requests meet this, the others are accepted. */
export function atFirst(react: Reaction, times = 1): Reaction {
  return (coming, response, count) =>
    count <= times ? react(coming, response, count) : accept(coming, response, count);
}

/** A clock of which every wait takes some time, so that what is refused early is refused in time as a rule. */
export const patientClock: Clock = {
  now: systemClock.now,
  sleep: (ms, signal) => systemClock.sleep(Math.max(ms, 120), signal),
};

/** The shortest time for which the last bytes of an upload are kept back; other waits are far shorter with `hasty`. */
const HELD_MS = 25;

/** A clock on which the last bytes of an upload are kept back until the service has answered or waits for them, whenever that is. */
export function holdingClock({ restWanted }: UploadServer): Clock {
  return {
    now: systemClock.now,
    sleep(ms, signal) {
      if (ms < HELD_MS) return systemClock.sleep(ms, signal);
      return new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        void restWanted.then(resolve);
      });
    },
  };
}

interface Uploader {
  /** The state file. */
  readonly state: string;
  upload(words: readonly string[], options?: RunOptions): Promise<Ran>;
  /** The types of the records of the state file, in order. */
  records(): Promise<string[]>;
}

/** Runs `upload` against a base address, with a state file of its own. */
export function uploader(baseUrl: string): Uploader {
  const state = join(tempDirectory(), 'state.jsonl');
  return {
    state,
    upload: (words, options = {}) =>
      partnerctl(baseUrl, ['upload', ...words, '-o', 'json', '--state', state], {
        clock: patientClock,
        random: hasty,
        ...options,
      }),
    records: async () => {
      const types: string[] = [];
      for await (const entry of readLog(state)) {
        if (entry.kind !== 'record') throw new Error(`Line ${entry.line} of the state file is ${entry.kind}.`);
        types.push(entry.record.type.replace('upload.', ''));
      }
      return types;
    },
  };
}

/** What `upload -o json` says of a file. */
export interface Said {
  readonly id: string | null;
  readonly status: string;
}
