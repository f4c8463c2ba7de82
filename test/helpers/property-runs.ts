/** Returns how often a property test tries a property: as often as given only in the sweeps, which set PROPERTY_RUNS=all. */
export function propertyRuns(all: number): number {
  return process.env.PROPERTY_RUNS === 'all' ? all : Math.ceil(all / 4);
}
