/** Returns how often a property test tries a property: as often as given only with PROPERTY_RUNS=all, which CI sets. */
export function propertyRuns(all: number): number {
  return process.env.PROPERTY_RUNS === 'all' ? all : Math.ceil(all / 4);
}
