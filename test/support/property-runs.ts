/**
 * Returns the number of runs of a property test: all of them only in `npm run test:slow`, which sets PROPERTY_RUNS=all.
 * @param few the number in `npm test`
 */
export function propertyRuns(all: number, few = Math.ceil(all / 4)): number {
  return process.env.PROPERTY_RUNS === 'all' ? all : few;
}
