import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Fault, FaultDice, requestTest } from '../../src/sandbox/faults.ts';

function rule(more: Partial<Pick<Fault, 'on' | 'rate' | 'times' | 'skip'>> = {}): Fault {
  return { kind: 'reset', stage: 'before', rate: 1, skip: 0, ...more };
}

describe('which requests a rule is on', () => {
  test.each([
    [undefined, 'GET', '/v1/automation/spaces/', true],
    ['GET', 'GET', '/v1/automation/spaces/', true],
    ['GET', 'POST', '/v1/automation/spaces/', false],
    ['/automation/spaces/', 'POST', '/v1/automation/spaces/', true],
    ['* /automation/', 'DELETE', '/v1/automation/spaces/', true],
    ['GET /automation/spaces/', 'GET', '/v1/automation/spaces/', true],
    ['GET /v1/automation/spaces/', 'GET', '/v1/automation/spaces/', true],
    ['GET /automation/spaces/', 'GET', '/v1/automation/spaces/s1/agents/', true],
    ['GET /automation/spaces/$', 'GET', '/v1/automation/spaces/s1/agents/', false],
    ['GET /automation/spaces/$', 'GET', '/v1/automation/spaces/', true],
    ['GET /automation/spaces/:space_id/agents/', 'GET', '/v1/automation/spaces/s1/agents/', true],
    ['GET /automation/spaces/*/agents/$', 'GET', '/v1/automation/spaces/s1/agents/', true],
    ['GET /automation/spaces/*/agents/', 'GET', '/v1/automation/spaces/', false],
    ['GET /automation/spaces/*$', 'GET', '/v1/automation/spaces/s1', true],
    ['GET /automation/spaces/*$', 'GET', '/v1/automation/spaces/s1/agents/', false],
    ['GET /automation.spaces/', 'GET', '/v1/automation/spaces/', false],
    ['GET /v1$', 'GET', '/v1', true],
  ])('%s on %s %s: %s', (on, method, path, expected) => {
    expect(requestTest(on)(method, path)).toBe(expected);
  });
});

describe('the dice', () => {
  test('the first rule that strikes wins; a later one counts only what passes those before it', () => {
    const first = rule({ on: 'GET', times: 2 });
    const second = rule({ skip: 1 });
    const dice = new FaultDice({ rules: [first, second], seed: 0 });
    const rolled = Array.from({ length: 5 }, () => dice.roll('GET', '/v1/'));
    expect(rolled).toEqual([first, first, undefined, second, second]);
  });

  test('the same seed gives the same faults, another seed others', () => {
    const roll = (seed: number): boolean[] => {
      const dice = new FaultDice({ rules: [rule({ rate: 0.5 })], seed });
      return Array.from({ length: 64 }, () => dice.roll('GET', '/v1/') !== undefined);
    };
    expect(roll(42)).toEqual(roll(42));
    expect(roll(42)).not.toEqual(roll(43));
  });

  test('strikes about as often as the rate says, whatever the seed', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), fc.double({ min: 0, max: 1, noNaN: true }), (seed, rate) => {
        const dice = new FaultDice({ rules: [rule({ rate })], seed });
        let struck = 0;
        for (let count = 0; count < 2_000; count += 1) if (dice.roll('GET', '/v1/')) struck += 1;
        // Six standard deviations at the widest.
        expect(Math.abs(struck / 2_000 - rate)).toBeLessThan(0.07);
      }),
      { numRuns: 50 },
    );
  });

  test('never strikes within the first `skip`, nor more than `times`', () => {
    const rules = { skip: fc.nat(20), times: fc.nat(20), rate: fc.constantFrom(0.3, 1) };
    fc.assert(
      fc.property(fc.record(rules), fc.nat(), ({ skip, times, rate }, seed) => {
        const dice = new FaultDice({ rules: [rule({ skip, times, rate })], seed });
        const struck = Array.from({ length: 60 }, () => dice.roll('GET', '/v1/') !== undefined);
        expect(struck.slice(0, skip)).not.toContain(true);
        expect(struck.filter(Boolean).length).toBeLessThanOrEqual(times);
        if (rate === 1) expect(struck.filter(Boolean).length).toBe(times);
      }),
    );
  });
});
