import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Agenda } from '../../src/sandbox/time/agenda.ts';

const entry = fc.record({
  key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  at: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
});

/** Every task in the order in which they are taken. */
function takenFrom(agenda: Agenda, until: number): string[] {
  const keys: string[] = [];
  for (let due = agenda.take(until); due; due = agenda.take(until)) {
    expect(due.at).toBeLessThanOrEqual(until);
    keys.push(due.key);
  }
  return keys;
}

test('gives what is entered in the order of moments, then of entry, and each key once', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 30 }), fc.integer({ min: 0, max: 5 }), (entries, until) => {
      const agenda = new Agenda();
      // The model: a key that is entered anew for its moment keeps its place.
      const model = new Map<string, { at: number; order: number }>();
      for (const [order, { key, at }] of entries.entries()) {
        agenda.set(key, at, () => undefined);
        const former = model.get(key);
        model.delete(key);
        if (at !== undefined) model.set(key, { at, order: former?.at === at ? former.order : order });
        expect(agenda.at(key)).toBe(at);
      }
      const expected = [...model].toSorted(([, one], [, other]) => one.at - other.at || one.order - other.order);
      expect(agenda.next).toBe(expected[0]?.[1].at);
      const due = expected.filter(([, { at }]) => at <= until).map(([key]) => key);
      expect(takenFrom(agenda, until)).toEqual(due);
      expect([...due, ...takenFrom(agenda, 5)]).toEqual(expected.map(([key]) => key));
      expect(agenda.next).toBeUndefined();
    }),
  );
});

test('is given the task that was entered last', () => {
  const agenda = new Agenda();
  const ran: string[] = [];
  agenda.set('a', 1, () => ran.push('first'));
  agenda.set('a', 1, (at) => ran.push(`second at ${at}`));
  const due = agenda.take(1);
  due?.task(due.at);
  expect(ran).toEqual(['second at 1']);
});
