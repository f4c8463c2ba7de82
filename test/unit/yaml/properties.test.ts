import fc from 'fast-check';
import { describe, test } from 'vitest';
import { propertyRuns } from '../../support/property-runs.ts';
import { YAML_PROPERTIES } from '../../support/yaml-properties.ts';

// The sweeps try these properties for longer.
describe('property:', () => {
  test.each(Object.entries(YAML_PROPERTIES))('%s', (_, property) => {
    fc.assert(property, { numRuns: propertyRuns(100) });
  });
});
