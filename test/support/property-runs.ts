/** Returns the number of runs of a property test: the given one only in the sweeps, which set PROPERTY_RUNS=all. */
export function propertyRuns(all: number): number {
  return process.env.PROPERTY_RUNS === 'all' ? all : Math.ceil(all / 4);
}
