import { spawn } from 'node:child_process';

/** Runs a command. Returns its wall time in milliseconds and its output; throws on another exit code than `wanted`. */
export function time(args, env, wanted = 0) {
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', wanted === 0 ? 'inherit' : 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === wanted) resolve({ ms: performance.now() - started, output });
      else reject(new Error(`${args.join(' ')} ended with ${code}`));
    });
  });
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Times two commands alternately, so that both see the same load, and compares the medians.
 * @param command its arguments, or what gives them for a round; so `baseline`
 * @param rounds runs of each command, after a warm-up run
 */
export async function compare({ name, command, baseline, limit, rounds, env, code = 0 }) {
  const times = { ours: [], theirs: [] };
  for (let round = -1; round < rounds; round += 1) {
    const [ours, theirs] = [command, baseline].map((args) => (typeof args === 'function' ? args(round) : args));
    const [a, b] = [await time(ours, env, code), await time(theirs, env, code)];
    if (round >= 0) {
      times.ours.push(a.ms);
      times.theirs.push(b.ms);
    }
  }
  const [ours, theirs] = [median(times.ours), median(times.theirs)];
  return { name, ours, baseline: theirs, ratio: ours / theirs, limit };
}
