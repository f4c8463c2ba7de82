import { homedir } from 'node:os';
import pkg from '../package.json' with { type: 'json' };
import { systemClock } from './clock.ts';
import { drained, streamSink } from './output/process-sinks.ts';
import { createSignals } from './signals.ts';

async function run(argv: readonly string[]): Promise<number> {
  const stdout = streamSink(process.stdout);
  // Answered before anything is loaded.
  if (argv.length === 1 && argv[0] === '--version') {
    await stdout.write(`${pkg.version}\n`);
    return 0;
  }
  const { main } = await import('./main.ts');
  return main(argv, {
    io: {
      // Looking at stdin opens it, which takes time that few commands need to spend.
      get stdin() {
        return process.stdin;
      },
      stdout,
      stderr: streamSink(process.stderr),
    },
    env: process.env,
    clock: systemClock,
    random: Math.random,
    signals: createSignals(process),
    platform: process.platform,
    home: homedir(),
    version: pkg.version,
    nodeVersion: process.versions.node,
    self: [process.execPath, ...process.argv.slice(1, 2)],
    terminal: process.stderr,
  });
}

/** A crash names the places in the code and nothing else: a message could hold a secret. */
function reportCrash(error: unknown): never {
  const name = error instanceof Error ? error.name : 'an unknown error';
  const frames = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  process.stderr.write(`error: partnerctl crashed (${name}). This is a bug.\n${frames.join('\n')}\n`);
  process.exit(1);
}

/** Runs the program in this process and ends it once everything written is out. */
export async function runProcess(): Promise<void> {
  process.on('uncaughtException', reportCrash);
  const code = await run(process.argv.slice(2));
  await Promise.all([drained(process.stdout), drained(process.stderr)]);
  // Left to itself, the process waits for idle sockets and for background compilation of undici's parser.
  process.exit(code);
}
