import { spawn } from 'node:child_process';

/** What commands that create much are compared with, see bare/keep-promises.js. */
export const LEAST_NAME = 'the least program of Node with the promises of one machine that runs alone';

/** Runs a program. Returns its wall time in milliseconds and its output; throws on another exit code than `wanted`. */
export function run(file, args, env, wanted = 0) {
  const started = performance.now();
  const child = spawn(file, args, {
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
      else reject(new Error(`${file} ${args.join(' ')} ended with ${code}`));
    });
  });
}

/** Runs a script with this Node. */
export const time = (args, env, wanted) => run(process.execPath, args, env, wanted);

/** The value below which a given share of the values lies, interpolated. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = Math.floor(place);
  const above = sorted[below + 1] ?? sorted[below];
  return sorted[below] + (above - sorted[below]) * (place - below);
}

export const median = (values) => quantile(values, 0.5);

/**
 * Measures two things alternately, so that both see the same load. They swap places each round, because the second finds the
 * caches that the first left.
 * @param ours measures once: gets the number of the round, and returns the figure; so does `theirs`
 * @param rounds the number of figures of each, after a warm-up
 */
export async function alternate({ ours, theirs, rounds }) {
  const figures = { ours: [], theirs: [] };
  for (let round = -1; round < rounds; round += 1) {
    const order = round % 2 === 0 ? ['ours', 'theirs'] : ['theirs', 'ours'];
    for (const side of order) {
      const figure = await (side === 'ours' ? ours : theirs)(round);
      if (round >= 0) figures[side].push(figure);
    }
  }
  return figures;
}

/**
 * Times two scripts alternately.
 * @param command the arguments of Node, or a function that returns them for a round; so is `baseline`
 * @param code the exit code of the command, `theirCode` of the baseline
 */
export function compare({ command, baseline, rounds, env, code = 0, theirCode = 0 }) {
  const args = (of, round) => (typeof of === 'function' ? of(round) : of);
  return alternate({
    ours: async (round) => (await time(args(command, round), env, code)).ms,
    theirs: async (round) => (await time(args(baseline, round), env, theirCode)).ms,
    rounds,
  });
}

/** Makes rows share one measurement: the first that needs it starts it. */
export function shared(measure) {
  let result;
  return (context) => {
    result ??= measure(context);
    return result;
  };
}

/**
 * How a cost grows with its size: the exponent of the best-fitting power law, by least squares of the logarithms. 1 is linear;
 * less means a fixed part whose share shrinks.
 * @param sizes in ascending order, such as 100, 1,000, 10,000
 * @param cost measures the total cost at a size once
 * @param fixed measures the cost of a run that has nothing to do; it would hide growth, so it is subtracted
 */
export async function growth({ sizes, cost, fixed = async () => 0, rounds = 3 }) {
  // The first run of a command compiles it.
  await fixed();
  const fixedCost = await fixed();
  const costs = sizes.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, size] of sizes.entries()) costs[index].push(await cost(size, round));
  const points = sizes.map((size, index) => {
    const all = Math.max(median(costs[index]) - fixedCost, Number.EPSILON);
    return { size, cost: all, each: all / size };
  });
  return { values: [exponent(points)], points };
}

/** @param points sizes and costs */
function exponent(points) {
  const logs = points.map(({ size, cost }) => [Math.log(size), Math.log(cost)]);
  const mean = (index) => logs.reduce((sum, log) => sum + log[index], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const over = logs.reduce((sum, log) => sum + (log[0] - x) * (log[1] - y), 0);
  return over / logs.reduce((sum, log) => sum + (log[0] - x) ** 2, 0);
}
