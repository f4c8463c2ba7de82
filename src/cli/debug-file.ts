import { closeSync, fchmodSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import type { TraceEvent } from '../api/attempt.ts';
import type { Clock } from '../clock.ts';
import { describeFileError, LocalError } from '../errors.ts';
import { redactHeaders } from '../output/redact.ts';

/** The file of --debug-file: a line of JSON for each request and its response or failure. */
export interface DebugFile {
  /** Opens the file before anything is sent. @throws LocalError if it cannot be written */
  open(): void;
  record(event: TraceEvent): void;
  close(): void;
}

/** Longer bodies are truncated. In UTF-16 code units. */
const MAX_BODY = 1024 * 1024;

const NO_FILE: DebugFile = { open: () => undefined, record: () => undefined, close: () => undefined };

function parseBody(text: string | undefined): unknown {
  if (text === undefined || text === '') return null;
  if (text.length > MAX_BODY) return `${text.slice(0, MAX_BODY)}…`;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function describeExchange(
  event: Extract<TraceEvent, { kind: 'result' }>,
  at: number,
  redact: (text: string) => string,
) {
  const { request, result, ms } = event;
  const url = new URL(event.url);
  const { body } = request;
  return {
    at: new Date(at).toISOString(),
    method: request.method,
    origin: url.origin,
    path: url.pathname,
    query: Object.fromEntries(new URL(request.path, url).searchParams),
    request_headers: redactHeaders(request.headers),
    request_body: parseBody(typeof body === 'string' ? redact(body) : undefined),
    request_form: (typeof body === 'object' && body.formFields) || null,
    status: result.kind === 'response' ? result.status : null,
    response_headers: result.kind === 'response' ? redactHeaders(result.headers) : null,
    response_body: result.kind === 'response' ? parseBody(redact(result.body)) : null,
    error: result.kind === 'failure' ? result.message : null,
    ms: Math.round(ms),
  };
}

/** The beginning of each line of this file, and of no other file that a command is given. */
const RECORD_START = /^\{"at":"[^"]*","method":"/;

/** Whether a file is empty, or begins with a recorded request. */
function isDebugFile(fd: number): boolean {
  const start = Buffer.alloc(64);
  const length = readSync(fd, start, 0, start.length, 0);
  return length === 0 || RECORD_START.test(start.toString('latin1', 0, length));
}

function openPrivately(path: string): number {
  let fd: number | undefined;
  try {
    // Opening a pipe would wait for its reader.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw new Error('it is not a regular file');
    fd = openSync(path, 'a+', 0o600);
    if (!isDebugFile(fd)) throw new Error('it has other content than requests that --debug-file recorded');
    fchmodSync(fd, 0o600);
    return fd;
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    throw new LocalError(`The file ${path} (--debug-file) cannot be written.`, {
      why: describeFileError(error),
      hint: 'Nothing was sent. Name another file.',
      cause: error,
    });
  }
}

/**
 * Creates the recorder of --debug-file. Only its owner can read the file. Leaves out lines that cannot be written, because
 * recording must not fail a call whose request was sent.
 * @param path undefined to record nothing
 * @param redact replaces secrets in a text
 * @param onFailure called once, when the first line cannot be written
 */
export function createDebugFile(
  path: string | undefined,
  clock: Clock,
  redact: (text: string) => string,
  onFailure: (reason: string) => void,
): DebugFile {
  if (path === undefined) return NO_FILE;
  let fd: number | undefined;
  let hasFailed = false;
  return {
    open() {
      fd ??= openPrivately(path);
    },
    record(event) {
      if (event.kind !== 'result' || fd === undefined) return;
      try {
        writeSync(fd, `${redact(JSON.stringify(describeExchange(event, clock.now(), redact)))}\n`);
      } catch (error) {
        if (!hasFailed) onFailure(`Some requests are missing in ${path}: ${describeFileError(error)}`);
        hasFailed = true;
      }
    },
    close() {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}
