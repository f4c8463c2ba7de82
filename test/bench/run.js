import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

/**
 * `npm run bench`: measures rows, one line each, and exits with 1 if one is over its limit.
 * --only <words>  only the rows whose names contain the words; repeatable
 * --list          only the names
 * --rounds <n>    at most that many measurements of each row
 * BENCH_NODE=<path> measures with another Node, BENCH_PROGRAM=<path of bin/partnerctl.js> another build.
 */
const OPTIONS = {
  only: { type: 'string', multiple: true, default: [] },
  list: { type: 'boolean', default: false },
  rounds: { type: 'string', default: '15' },
};

/** Node reads the certificates at each start, which would make every ratio look better than it is. */
const UNSET = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE', 'NODE_DISABLE_COMPILE_CACHE'];

const GROUPS = ['startup', 'bulk', 'lists', 'upload', 'tail', 'growth'];

async function selectRows(words) {
  const groups = await Promise.all(GROUPS.map((group) => import(`./${group}.js`)));
  const isNamed = ({ name }) => words.some((word) => name.toLowerCase().includes(word.toLowerCase()));
  return groups.flatMap(({ rows }) => rows).filter((row) => words.length === 0 || isNamed(row));
}

/** @returns whether the row is within its limit */
async function measureRow({ name, limit, unit = '×', measure }, rounds, width) {
  process.stdout.write(name.padEnd(width));
  try {
    const figure = await measure(rounds);
    const isWithin = figure <= limit;
    const [measured, most] = [`${Number(figure.toPrecision(3))} ${unit}`, `limit ${limit}`];
    process.stdout.write(`  ${measured.padStart(9)}  ${most.padEnd(10)}  ${isWithin ? 'within' : 'over'}\n`);
    return isWithin;
  } catch (error) {
    process.stdout.write(`  failed: ${error.message}\n`);
    return false;
  }
}

/** @returns the exit code */
async function main() {
  const { values } = parseArgs({ options: OPTIONS });
  for (const variable of UNSET) delete process.env[variable];
  const rows = await selectRows(values.only);
  if (rows.length === 0) {
    process.stderr.write('No row has these words in its name.\n');
    return 2;
  }
  if (values.list) {
    for (const { name } of rows) process.stdout.write(`${name}\n`);
    return 0;
  }
  const width = Math.max(...rows.map(({ name }) => name.length));
  let code = 0;
  for (const row of rows) if (!(await measureRow(row, Number(values.rounds), width))) code = 1;
  return code;
}

/** Runs this file again with another Node. */
function runWith(node) {
  const { BENCH_NODE: _, ...env } = process.env;
  const { status, error } = spawnSync(node, process.argv.slice(1), { stdio: 'inherit', env });
  if (error) throw error;
  return status ?? 1;
}

const { BENCH_NODE } = process.env;
process.exitCode = BENCH_NODE ? runWith(BENCH_NODE) : await main();
