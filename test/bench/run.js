import { spawnSync } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createTable, machine, toResult } from './harness/report.js';

/**
 * Measures rows of the groups next to this file: `npm run bench -- [name …] [--json[=file]] [--rounds n] [--list]`. A group is a
 * file that exports `rows`: {name, beside, limit, unit, skip, measure}; see toResult for the result of measure.
 */
const OPTIONS = {
  json: { type: 'string' },
  rounds: { type: 'string', default: process.env.BENCH_ROUNDS ?? '21' },
  list: { type: 'boolean' },
};

/** Node reads the certificates at each start, which would make every ratio look better than it is. */
const UNMEASURED = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE', 'NODE_DISABLE_COMPILE_CACHE'];

/** Runs this file again with the Node in BENCH_NODE. */
function runWith(node) {
  const { BENCH_NODE: _, ...env } = process.env;
  const { status, error } = spawnSync(node, process.argv.slice(1), { stdio: 'inherit', env });
  if (error) throw error;
  return status ?? 1;
}

async function readRows() {
  const directory = fileURLToPath(new URL('.', import.meta.url));
  const rows = [];
  for (const file of (await readdir(directory)).sort()) {
    if (!file.endsWith('.js') || file === 'run.js') continue;
    const group = file.slice(0, -'.js'.length);
    const module = await import(new URL(file, import.meta.url));
    rows.push(...module.rows.map((row) => ({ ...row, group })));
  }
  return rows;
}

/** The rows whose group has one of the names, or whose own name contains one; all rows if there are no names. */
function select(rows, names) {
  const isNamed = ({ group, name }) =>
    names.some((wanted) => group === wanted || `${group} ${name}`.toLowerCase().includes(wanted.toLowerCase()));
  return names.length === 0 ? rows : rows.filter(isNamed);
}

async function measureRow(row, rounds) {
  const { group, name, beside = null, skip, measure } = row;
  const reason = skip?.();
  if (reason !== undefined) return { group, name, beside, skipped: reason };
  try {
    return toResult(group, row, await measure({ rounds }));
  } catch (error) {
    return { group, name, beside, error: error.message };
  }
}

/** @returns the exit code */
async function main() {
  // `--json` alone means standard output.
  const args = process.argv.slice(2).map((arg) => (arg === '--json' ? '--json=-' : arg));
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  for (const variable of UNMEASURED) delete process.env[variable];
  const rows = select(await readRows(), positionals);
  if (values.list || rows.length === 0) {
    process.stdout.write(rows.map(({ group, name }) => `${group}: ${name}\n`).join('') || 'No row has that name.\n');
    return rows.length === 0 ? 2 : 0;
  }
  const [rounds, report] = [Number(values.rounds), values.json === '-' ? process.stderr : process.stdout];
  const [environment, table, results] = [machine(rounds), createTable(rows), []];
  const { node, platform, cpus, cpu } = environment;
  report.write(`Node ${node}, ${platform}, ${cpus} × ${cpu}, ${rounds} rounds; medians (quartiles)\n${table.head}`);
  for (const row of rows) {
    const result = await measureRow(row, rounds);
    results.push(result);
    report.write(table.row(result));
  }
  const text = `${JSON.stringify({ ...environment, rows: results }, null, 2)}\n`;
  if (values.json === '-') process.stdout.write(text);
  else if (values.json !== undefined) await writeFile(values.json, text);
  return results.some(({ within, error }) => within === false || error !== undefined) ? 1 : 0;
}

const { BENCH_NODE } = process.env;
process.exitCode = BENCH_NODE ? runWith(BENCH_NODE) : await main();
