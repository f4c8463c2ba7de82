import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
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
}

/** What comes in is kept up to here; more is only counted. */
const KEPT_BYTES = 1_000_000;

function coming(request: IncomingMessage): Coming {
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
  return {
    headers: request.headers,
    path: request.url ?? '',
    bytes: () => bytes,
    body: () => Buffer.concat(kept),
    reached: (wanted) => new Promise((resolve) => waiting.push({ bytes: wanted, resolve })),
    whole: new Promise<void>((resolve) => {
      request.on('end', () => {
        isWhole = true;
        resolve();
      });
    }),
    closed: new Promise((resolve) => request.socket.on('close', () => resolve())),
    isWhole: () => isWhole,
    pause: () => request.pause(),
    resume: () => request.resume(),
  };
}

/** A service that can be as bad as a test wants while a body is still coming. */
export async function uploadServer(react: Reaction): Promise<UploadServer> {
  const requests: Coming[] = [];
  const server = createServer((request, response) => {
    const one = coming(request);
    requests.push(one);
    response.on('error', () => undefined);
    void react(one, response, requests.length);
  });
  return { ...(await listen(server)), requests };
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
