import { EventEmitter, once } from 'node:events';
import { expect, onTestFinished } from 'vitest';
import { manualSignals, type RunOptions, run } from './run.ts';

/** A `webhook listen` that runs in this process. */
interface Listening {
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
export async function startListening(
  args: readonly string[],
  { reader, ...options }: ListeningOptions = {},
): Promise<Listening> {
  const written = new EventEmitter();
  const lines: string[] = [];
  let stderr = '';
  const signals = manualSignals();
  const exited = run(['webhook', 'listen', ...args], {
    ...options,
    env: { PARTNER_OUTPUT: 'ndjson', ...options.env },
    signals,
    async onStdout(text) {
      if (lines.length > 0) await reader;
      lines.push(...text.trimEnd().split('\n').slice(lines.length));
      written.emit('written');
    },
    onStderr: (text) => {
      stderr = text;
    },
  }).then(({ code }) => code);
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
      if (isOver && lines[index] === undefined) throw new Error(`It ended: ${stderr}`);
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
    stderr: () => stderr,
    event: async (index) => JSON.parse(await lineAt(index + 1)),
    stop,
    exited,
  };
}
