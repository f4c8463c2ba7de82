import { cpus, totalmem } from 'node:os';
import { median, quantile } from './measure.js';

const round = (value) => Number(value.toPrecision(4));

function spread(values) {
  return { median: round(median(values)), q1: round(quantile(values, 0.25)), q3: round(quantile(values, 0.75)) };
}

/** The limit on this Node: that of its version line, or of the newest line before it. */
function limitOf({ limit }) {
  if (typeof limit === 'number') return limit;
  const major = Number(process.versions.node.split('.')[0]);
  const lines = Object.keys(limit).map(Number);
  return limit[lines.findLast((line) => line <= major) ?? lines[0]];
}

/**
 * The measurements of a row, as in the JSON output.
 * @param figures `ours` and `theirs` of each round, or `values` of a row with its own limit
 */
export function toResult(group, row, figures) {
  const { name, beside, unit = 'ms' } = row;
  const limit = limitOf(row);
  const facts = { group, name, beside: beside ?? null, limit };
  if (figures.values) {
    const value = spread(figures.values);
    const { points } = figures;
    return { ...facts, unit, value, ...(points && { points }), within: value.median <= limit };
  }
  const { ours, theirs } = figures;
  // In pairs, because the speed of the machine drifts.
  const ratio = spread(ours.map((figure, index) => figure / theirs[index]));
  return { ...facts, unit, ours: spread(ours), theirs: spread(theirs), ratio, within: ratio.median <= limit };
}

const MIB = 1024 * 1024;

/** The machine and the versions of the measurements. */
export function machine(rounds) {
  const [first, ...others] = cpus();
  return {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cpus: others.length + 1,
    cpu: first?.model ?? null,
    memory_mib: Math.round(totalmem() / MIB),
    at: new Date().toISOString(),
    rounds,
  };
}

const figure = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));
const quartiles = ({ q1, q3 }) => (q1 === q3 ? '' : ` (${figure(q1)}–${figure(q3)})`);

function measured({ points, unit, value, ours, theirs, ratio }) {
  if (points) {
    const each = points.map(({ size, each }) => `${size}: ${figure(each)}`).join(', ');
    return [`exponent ${figure(value.median)}`, `${unit} each at ${each}`];
  }
  if (value) return [`${figure(value.median)} ${unit}${quartiles(value)}`, ''];
  return [`${figure(ratio.median)} ×${quartiles(ratio)}`, `${figure(ours.median)} / ${figure(theirs.median)} ${unit}`];
}

function verdict({ error, skipped, within }) {
  if (error !== undefined) return `FAILED: ${error}`;
  if (skipped !== undefined) return `skipped: ${skipped}`;
  return within ? 'within' : 'OVER';
}

/** Formats results as lines of a table. @param rows all rows that will be measured, which determine the widths of the columns */
export function createTable(rows) {
  const title = ({ name, beside }) => (beside ? `${name}, beside ${beside}` : name);
  const width = Math.max(...rows.map((row) => title(row).length));
  const line = (...cells) =>
    `${[width, 22, 24, 6].map((columns, index) => cells[index].padEnd(columns)).join('  ')}  ${cells[4]}\n`;
  return {
    head: line('what', 'measured', 'figures', 'limit', ''),
    row(result) {
      const isMeasured = result.within !== undefined;
      const cells = isMeasured ? [...measured(result), String(result.limit)] : ['', '', ''];
      return line(title(result), ...cells, verdict(result));
    },
  };
}
