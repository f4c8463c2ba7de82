import { Readable } from 'node:stream';
import type { Clock } from '../../../src/clock.ts';
import { InterruptedError } from '../../../src/errors.ts';
import { main } from '../../../src/main.ts';
import { memorySink } from '../../support/memory-sink.ts';
import { manualSignals, testProcess } from '../../support/run.ts';

export interface CommandRun {
  readonly argv: readonly string[];
  readonly stdin?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
  /** Called after each write to stdout, with all of its text. Returns whether to press Ctrl-C. */
  readonly watch?: (stdout: string) => boolean;
  readonly clock: Clock;
}

export interface CommandEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** Runs a command line in this process, with its own home and streams, and real HTTP. */
export async function runCommand({ argv, stdin, env, home, watch, clock }: CommandRun): Promise<CommandEnd> {
  const signals = manualSignals();
  const stdout = memorySink({
    onWrite: (text) => {
      if (watch?.(text)) signals.abort(new InterruptedError('Interrupted.'));
    },
  });
  const stderr = memorySink();
  const start = performance.now();
  const code = await main(argv, {
    io: { stdin: Readable.from(stdin === undefined ? [] : [stdin]), stdout, stderr },
    env: { HOME: home, ...env },
    clock,
    random: Math.random,
    signals,
    ...testProcess(home),
  });
  return { code, stdout: stdout.text(), stderr: stderr.text(), ms: performance.now() - start };
}
