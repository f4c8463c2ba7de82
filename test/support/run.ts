import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { expect, onTestFinished, vi } from 'vitest';
import { type Meta, metaOf } from '../../src/cli/command.ts';
import type { Signals } from '../../src/cli/signals.ts';
import { allCommands } from '../../src/commands/all.ts';
import { DEFAULT_PROFILE, type Profiles } from '../../src/config/profiles.ts';
import { COMMON_EXITS, EXIT, InterruptedError } from '../../src/errors.ts';
import { main } from '../../src/main.ts';
import { createRedactor } from '../../src/output/redact.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { memorySink } from './sinks.ts';

interface JsonError {
  readonly type: string;
  readonly message: string;
  readonly hint: string | null;
  readonly [key: string]: unknown;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as JSON. */
  json<Shape>(): Shape;
  /** The error object of `-o json`, after the notices. */
  error(): JsonError;
}

export interface RunOptions {
  readonly env?: Record<string, string | undefined>;
  readonly stdin?: string | Uint8Array;
  /** Whether stdout and stderr are terminals, and how wide. */
  readonly columns?: number | undefined;
  /** The height of the terminals. */
  readonly rows?: number | undefined;
  /** Where progress is shown, if `columns` is set. */
  readonly terminal?: NodeJS.WritableStream;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly signals?: Signals;
  /** Called after each write, with everything that was written to the stream. The program waits for it as for a slow reader. */
  readonly onStdout?: (text: string) => unknown;
  readonly onStderr?: (text: string) => unknown;
}

/** A clock whose waits end immediately and advance it; `slept` has the length of each wait. */
export function fastClock(start = Date.UTC(2026, 0, 1)): Clock & { readonly slept: number[] } {
  let now = start;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    monotonic: () => now - start,
    async sleep(ms, signal) {
      if (signal?.aborted) throw signal.reason;
      slept.push(ms);
      now += ms;
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted) throw signal.reason;
    },
  };
}

/** The machine's clock, `times` as fast, for waits and time limits alike. */
export function fasterClock(times = 10): Clock {
  const start = Date.now();
  return {
    now: () => start + (Date.now() - start) * times,
    monotonic: () => systemClock.monotonic() * times,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
  };
}

/** A faster clock that a test can advance, which ends every wait, so that a time limit ends at a chosen point. */
export function leapingClock(): Clock & { leap(ms: number): void } {
  const { now, monotonic, sleep } = fasterClock();
  let ahead = 0;
  let leaping = new AbortController();
  return {
    now: () => now() + ahead,
    monotonic: () => monotonic() + ahead,
    async sleep(ms, signal) {
      const ended = leaping.signal;
      try {
        await sleep(ms, signal ? AbortSignal.any([ended, signal]) : ended);
      } catch (error) {
        if (!ended.aborted || signal?.aborted) throw error;
      }
    },
    leap: (ms) => {
      ahead += ms;
      leaping.abort();
      leaping = new AbortController();
    },
  };
}

/** How long the machine may take to notice a closed connection, in turns of the event loop. */
const TURNS = 100;

/** A fast clock on which time also passes while the service does not respond, so that the time limit of a request ends it. */
export function stallingClock() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { now, sleep } = fastClock();
  let ahead = 0;
  const passSecond = async (): Promise<void> => {
    ahead += 1_000;
    vi.advanceTimersByTime(1_000);
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    now: () => now() + ahead,
    monotonic: () => now() + ahead,
    sleep,
    /** Leaves a response, or a connection, as it is until the client gives up. */
    async stall(unanswered: { readonly destroyed: boolean }): Promise<void> {
      while (!unanswered.destroyed) await passSecond();
    },
    /** The machine sleeps. */
    leap(ms: number): void {
      ahead += ms;
    },
    /** Responds with JSON, one character in each second. */
    async dribble(response: ServerResponse, body: string): Promise<void> {
      response.writeHead(200, { 'content-type': 'application/json' });
      for (const character of body) {
        response.write(character);
        await passSecond();
      }
      response.end();
    },
  };
}

/** Random numbers so small that backoff is negligible, but different, as request ids must be. */
export function tinyRandom(): number {
  return Math.random() / 1000;
}

/** Signals that a test sends itself. */
export function manualSignals() {
  const control = new AbortController();
  const end = (exitCode: 129 | 130 | 143): void => control.abort(new InterruptedError('Interrupted.', exitCode));
  return {
    interrupt: control.signal,
    /** Presses Ctrl-C. */
    ctrlC: () => end(130),
    /** Sends the signal that ends a command with this exit code: SIGHUP, SIGINT, or SIGTERM. */
    end,
    takeOver: () => () => undefined,
  };
}

/** A directory for one test, removed when it ends. */
export function tempDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'partnerctl-test-'));
  // A program that has just exited may still be writing into its compile cache.
  onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** What the help of each command declares, by its words. Built once: it takes as long as most of the runs. */
const declared = new Map<string, Meta>();

function collectMetas(commands: readonly CommandUnknownOpts[], words = ''): void {
  for (const command of commands) {
    const path = `${words} ${command.name()}`;
    const meta = metaOf(command);
    if (meta) declared.set(path, meta);
    collectMetas(command.commands, path);
  }
}

/** Whether an item of JSON has the fields of a declaration such as `{name, error?}`; `…` stands for more. */
function hasFields(item: object, declaration: string): boolean {
  const fields = declaration.slice(1, -1).split(', ');
  const names = fields.map((field) => field.replace('?', ''));
  const isComplete = fields.every((field) => /[?…]$/.test(field) || field in item);
  return isComplete && (names.includes('…') || Object.keys(item).every((name) => names.includes(name)));
}

/** Checks that JSON is as declared: `[{name, agents: [{agent_id}]}]`, or one of several such. */
function expectDeclaredFields(declaration: string, printed: string, path: string): void {
  let flat = declaration;
  while (/: [[{]/.test(flat)) flat = flat.replace(/: \[?\{[^{}]*\}\]?/g, '');
  const declarations = flat.match(/\{.*?\}/g) ?? [];
  const [line = ''] = printed.split('\n');
  const document: unknown = JSON.parse(line.startsWith('{"') ? line : printed);
  const wrong = [document].flat().filter((item) => !declarations.some((each) => hasFields(Object(item), each)));
  expect(wrong, `${path} prints what its help says: ${declaration}`).toEqual([]);
}

/** Checks that a command does what its help declares. `sandbox run` exits with the code of its command. */
function expectDeclared(argv: readonly string[], code: number, json: string | undefined): void {
  if (declared.size === 0) collectMetas(allCommands());
  const at = (path: string): number => ` ${argv.join(' ')} `.indexOf(`${path} `);
  const paths = [...declared.keys()].filter((path) => at(path) !== -1);
  const [path = ''] = paths.toSorted((one, other) => at(one) - at(other) || other.length - one.length);
  const { exits = [], json: declaration } = declared.get(path) ?? {};
  if (path === '' || path === ' sandbox run') return;
  const codes = [...COMMON_EXITS, ...exits].map((name) => EXIT[name]);
  expect(codes, `${path} exits with what its help says`).toContain(code);
  if (declaration && json) expectDeclaredFields(declaration, json, path);
}

/** The error object of `-o json`: the last line of what was written to stderr. */
export function errorIn(stderr: string): JsonError {
  return JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error;
}

/** Runs a command line in this process: the entire program, with its own home, clock, and streams, and real HTTP. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const home = options.env?.HOME ?? tempDirectory();
  const { columns, rows } = options;
  const screen = { isTTY: columns !== undefined, columns, rows };
  const stdout = memorySink({ ...screen, onWrite: options.onStdout });
  const stderr = memorySink({ ...screen, onWrite: options.onStderr });
  const code = await main(argv, {
    io: {
      stdin: Readable.from(options.stdin === undefined ? [] : [options.stdin]),
      stdout,
      stderr,
      terminal: options.terminal ?? new PassThrough(),
    },
    env: { HOME: home, ...options.env },
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    signals: options.signals ?? manualSignals(),
    runtime: {
      version: '0.0.0-test',
      nodeVersion: process.versions.node,
      platform: process.platform,
      home,
      selfCommand: [process.execPath, fileURLToPath(new URL('../../bin/partnerctl.js', import.meta.url))],
    },
  });
  const isJson = (argv[argv.indexOf('-o') + 1] ?? options.env?.PARTNER_OUTPUT) === 'json';
  const isOther = ['--query', '--dry-run', '--schema', '--help', '--rows'].some((option) => argv.includes(option));
  expectDeclared(argv, code, isJson && !isOther && code === 0 ? stdout.text() : undefined);
  return {
    code,
    stdout: stdout.text(),
    stderr: stderr.text(),
    json: () => JSON.parse(stdout.text()),
    error: () => errorIn(stderr.text()),
  };
}

/** The token of `partnerctl`. */
export const TOKEN = 'pat_faults_0123456789abcdef';

/** Runs a full command line against a base URL; waits take no time unless a clock is given. */
export function partnerctl(baseUrl: string, argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return run(argv, {
    clock: fastClock(),
    ...options,
    env: { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: TOKEN, ...options.env },
  });
}

/** Returns the given arguments, and before them the default flags (flag, value, …) that they do not set themselves. */
export function withDefaults(defaults: readonly string[], given: readonly string[]): string[] {
  const kept = defaults.filter((_, index) => !given.includes(defaults[index - (index % 2)] ?? ''));
  return [...kept, ...given];
}

/** No profile is stored. */
export const NO_PROFILES: Profiles = { current: () => DEFAULT_PROFILE, names: () => [], find: () => undefined };

/** What a feature needs to find the settings and the state: without profiles, and with a home of its own. */
export function settingsContext() {
  const runtime = { platform: process.platform, home: tempDirectory() };
  return { flags: {}, env: {}, config: NO_PROFILES, runtime, redactor: createRedactor([]) };
}
