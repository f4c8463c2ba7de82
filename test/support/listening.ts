import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import type { Sink } from '../../src/cli/io.ts';
import { systemClock } from '../../src/clock.ts';
import { main } from '../../src/main.ts';
import { manualSignals, type RunOptions, tempDirectory, testProcess } from './run.ts';

/** A `webhook listen` that runs in this process. */
export interface Listening {
  /** The URL on which it listens. */
  readonly url: string;
  /** The output, by line. */
  readonly lines: readonly string[];
  /** The objects that follow the first one. */
  readonly events: readonly DeliveryEvent[];
  readonly stderr: () => string;
  /** Resolves with the object at a position, 0 for the first delivery. */
  event(index: number): Promise<DeliveryEvent>;
  /** Ends it as Ctrl-C does. @returns the exit code */
  stop(): Promise<number>;
  /** Resolves with the exit code when it ends without `stop`. */
  readonly exited: Promise<number>;
}

/** An object of `webhook listen -o ndjson`. */
interface DeliveryEvent {
  readonly delivery_id: string;
  readonly verification: string;
  readonly reason: string | null;
  readonly forwarded: boolean | null;
  readonly forward_status: number | null;
  readonly message_id: string | null;
  readonly session_id: string | null;
  readonly source_id: string | null;
  readonly role: string | null;
  readonly text: string | null;
  readonly saved: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface ListeningOptions extends RunOptions {
  /** Resolves when the reader of the output takes more than the first line. */
  readonly reader?: Promise<void>;
}

/** Runs `webhook listen -o ndjson` until it listens. It ends with the test at the latest. */
export async function startListening(args: readonly string[], options: ListeningOptions = {}): Promise<Listening> {
  const home = options.env?.HOME ?? tempDirectory();
  const written = new EventEmitter();
  const lines: string[] = [];
  let errors = '';
  const sink = (write: (text: string) => void): Sink => ({
    async write(text) {
      if (lines.length > 0) await options.reader;
      write(text);
      written.emit('written');
    },
    isTTY: false,
    columns: 80,
  });
  const signals = manualSignals();
  const exited = main(['webhook', 'listen', ...args], {
    io: {
      stdin: Readable.from(options.stdin === undefined ? [] : [options.stdin]),
      stdout: sink((text) => lines.push(...text.trimEnd().split('\n'))),
      stderr: sink((text) => {
        errors += text;
      }),
    },
    env: { HOME: home, PARTNER_OUTPUT: 'ndjson', ...options.env },
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    signals,
    ...testProcess(home),
  });
  const stop = (): Promise<number> => {
    signals.ctrlC();
    return exited;
  };
  onTestFinished(async () => {
    await stop();
  });
  const ended = exited.then(() => true);
  const lineAt = async (index: number): Promise<string> => {
    while (lines[index] === undefined) {
      const isOver = await Promise.race([once(written, 'written').then(() => false), ended]);
      if (isOver && lines[index] === undefined) throw new Error(`It ended: ${errors}`);
    }
    return lines[index];
  };
  const first = await lineAt(0);
  const url: string = first.startsWith('{') ? JSON.parse(first).url : first;
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\//);
  return {
    url,
    lines,
    get events() {
      return lines.slice(1).map((line) => JSON.parse(line));
    },
    stderr: () => errors,
    event: async (index) => JSON.parse(await lineAt(index + 1)),
    stop,
    exited,
  };
}
