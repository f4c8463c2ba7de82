/** Returns the number of runs of a property test: the given one only in `npm run test:slow`, which sets PROPERTY_RUNS=all. */
export function propertyRuns(all: number): number {
  return process.env.PROPERTY_RUNS === 'all' ? all : Math.ceil(all / 4);
}
