import { LOOP, PROGRAM, peakMemory, ratio, wallTime, withService } from './measure.js';

const LIST = [PROGRAM, 'spaces', 'list', '-o', 'ndjson'];
const SPACES = { spaces: 100_000 };

const besideLoop = (rounds) =>
  withService(SPACES, (env) =>
    ratio(
      Math.min(rounds, 5),
      () => wallTime([process.execPath, ...LIST], env),
      () => wallTime([process.execPath, LOOP, 'list'], env),
    ),
  );

export const rows = [
  { name: 'spaces list of 100,000 spaces, beside a bare loop over next', limit: 1.8, measure: besideLoop },
  {
    name: 'memory of spaces list of 100,000 spaces',
    unit: 'MB',
    limit: 120,
    measure: () => withService(SPACES, (env) => peakMemory(LIST, env)),
  },
];
