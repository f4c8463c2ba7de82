import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { compare } from './measure.js';
import { PROGRAM, startSandbox } from './sandbox.js';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 21);
const here = (file) => new URL(file, import.meta.url).pathname;

/** Peak memory of a command in MiB. */
async function peakMemory(args, env) {
  const child = spawn(process.execPath, ['--import', here('peak-memory.js'), PROGRAM, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  let kib = '';
  child.stdio[3].on('data', (chunk) => {
    kib += chunk;
  });
  await once(child, 'close');
  return Number(kib) / 1024;
}

function row({ name, ours, baseline, ratio, limit }, unit) {
  const verdict = ratio <= limit ? 'within' : 'OVER';
  const figures = `${ours.toFixed(1)} ${unit} against ${baseline.toFixed(1)} ${unit}`;
  return `${name}: ratio ${ratio.toFixed(2)}, ${verdict} the limit of ${limit} (${figures})`;
}

const sandbox = await startSandbox();
const results = [];
try {
  const bare = ['-e', '0'];
  const pairs = [
    { name: '--version against node -e 0', command: [PROGRAM, '--version'], baseline: bare, limit: 1.3 },
    { name: '--help against node -e 0', command: [PROGRAM, '--help'], baseline: bare, limit: 1.3 },
    {
      name: 'spaces list -o json against one GET with node:http',
      command: [PROGRAM, 'spaces', 'list', '-o', 'json'],
      baseline: [here('one-get.js')],
      limit: 1.6,
    },
  ];
  for (const pair of pairs) {
    const result = await compare({ ...pair, rounds: ROUNDS, env: sandbox.env });
    results.push(result);
    process.stdout.write(`${row(result, 'ms')}\n`);
  }

  await sandbox.makeSpaces(1_000);
  const few = await peakMemory(['spaces', 'list', '-o', 'ndjson'], sandbox.env);
  await sandbox.makeSpaces(100_000);
  const many = await peakMemory(['spaces', 'list', '-o', 'ndjson'], sandbox.env);
  const memory = {
    name: 'memory of 101,000 spaces against 1,000',
    ours: many,
    baseline: few,
    ratio: many / few,
    limit: 1.5,
  };
  results.push(memory);
  process.stdout.write(`${row(memory, 'MiB')}\n`);
} finally {
  await sandbox.stop();
}
if (results.some(({ ratio, limit }) => ratio > limit)) process.exitCode = 1;
