import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export const PROGRAM = process.env.BENCH_PROGRAM ?? fileURLToPath(new URL('../../bin/partnerctl.js', import.meta.url));
/** The least programs to compare with. */
export const LOOP = fileURLToPath(new URL('loop.js', import.meta.url));
const SERVICE = fileURLToPath(new URL('service.js', import.meta.url));
const REPORT_PEAK = `import { writeSync } from 'node:fs';
process.on('exit', () => writeSync(3, String(process.resourceUsage().maxRSS)));`;

/** Gives `use` a new directory, and removes it afterwards. */
export async function withDirectory(use) {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-bench-'));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/**
 * Runs the service of service.js in a process of its own.
 * @param use gets the environment for commands, which have a new directory as their home
 */
export function withService(options, use) {
  return withDirectory(async (directory) => {
    const child = spawn(process.execPath, [SERVICE, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const [port] = await once(createInterface({ input: child.stdout }), 'line');
      return await use({
        PATH: process.env.PATH,
        HOME: directory,
        PARTNER_BASE_URL: `http://127.0.0.1:${port}/v1`,
        PARTNER_TOKEN: 'bench',
      });
    } finally {
      child.kill();
      await once(child, 'exit');
    }
  });
}

async function endOf(child, command, code) {
  const [actual] = await once(child, 'close');
  if (actual !== code) throw new Error(`${command.join(' ')} exited with ${actual}`);
}

/** Runs a command. @returns its time by the clock, in milliseconds */
export async function wallTime(command, env, code = 0) {
  const started = performance.now();
  const child = spawn(command[0], command.slice(1), { env, stdio: ['ignore', 'ignore', 'ignore'] });
  await endOf(child, command, code);
  return performance.now() - started;
}

/** Runs a command. @returns the time of the processor that it took, in milliseconds */
export async function cpuTime(command, env, code = 0) {
  const script = 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1';
  const child = spawn('bash', ['-c', script, 'bash', ...command], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const [times] = await Promise.all([text(child.stderr), endOf(child, command, code)]);
  const [user, system] = times.trim().split(' ').map(Number);
  return (user + system) * 1_000;
}

/** Runs a script with this Node. @returns its peak memory in MB */
export async function peakMemory(script, env) {
  const preload = `data:text/javascript,${encodeURIComponent(REPORT_PEAK)}`;
  const args = ['--import', preload, ...script];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const [kib] = await Promise.all([text(child.stdio[3]), endOf(child, script, 0)]);
  return (Number(kib) * 1024) / 1e6;
}

/** The value below which a share of the values lies. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)];
}

export const median = (values) => quantile(values, 0.5);

/**
 * The median ratio of two costs. They are measured in pairs, because the speed of a machine drifts, and swap places in each round,
 * because the second finds the caches that the first left. The first round, which fills the caches, does not count.
 * @param ours measures once, given the number of the round; so does `theirs`
 */
export async function ratio(rounds, ours, theirs) {
  const ratios = [];
  for (let round = 0; round <= rounds; round += 1) {
    const isOursFirst = round % 2 === 0;
    const first = await (isOursFirst ? ours : theirs)(round);
    const second = await (isOursFirst ? theirs : ours)(round);
    if (round > 0) ratios.push(isOursFirst ? first / second : second / first);
  }
  return median(ratios);
}
