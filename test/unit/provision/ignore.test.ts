import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Difference, isIgnored, withoutIgnored } from '../../../src/provision/differences.ts';

const RESOURCES = ['space', 'agent', 'chat', 'job'] as const;

const difference: Difference = { resource: 'job', name: 'Caf\u00e9', field: 'hour', service: '8', manifest: '9' };

const entries = fc.record(
  {
    resource: fc.constantFrom(...RESOURCES),
    name: fc.constantFrom('Caf\u00e9', 'Cafe\u0301', 'other'),
    field: fc.constantFrom('hour', 'minute'),
  },
  { requiredKeys: ['resource'] },
);

describe('An entry of ignore', () => {
  it('matches a difference of its resource and, where it has them, of its name in any Unicode form, and its field', () => {
    fc.assert(
      fc.property(fc.array(entries), (ignored) => {
        const matching = ignored.filter(
          ({ resource, name, field }) => resource === 'job' && name !== 'other' && field !== 'minute',
        );
        expect(withoutIgnored(ignored, [difference])).toEqual(matching.length > 0 ? [] : [difference]);
      }),
    );
  });

  it('matches an unmanaged thing by its name or its id, unless it is about a field', () => {
    const agent = { resource: 'agent', id: 'agt_1', name: 'Old bot' } as const;
    const nameless = { ...agent, name: null };
    expect(isIgnored([{ resource: 'agent' }], nameless)).toBe(true);
    expect(isIgnored([{ resource: 'agent', name: 'Old bot' }], agent)).toBe(true);
    expect(isIgnored([{ resource: 'agent', name: 'agt_1' }], nameless)).toBe(true);
    expect(isIgnored([{ resource: 'job', name: 'Old bot' }], agent)).toBe(false);
    expect(isIgnored([{ resource: 'agent', name: 'Old bot', field: 'name' }], agent)).toBe(false);
    expect(isIgnored(undefined, agent)).toBe(false);
  });
});
