import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { directionOf, sortOldestFirst } from '../../../src/contract/message-order.ts';

const ref = (message_id: string, created_at: string | null = null) => ({ message_id, created_at });
const day = (number: number) => `2026-01-0${number}T00:00:00Z`;

describe('the order of messages', () => {
  it.each([
    ['times, also where ids say otherwise', [ref('m9', day(1)), ref('m1', day(2))], 'oldest first'],
    ['ids, where times are equal', [ref('m2', day(1)), ref('m1', day(1))], 'newest first'],
    ['ids, where a time is missing', [ref('m1', day(2)), ref('m2'), ref('m3', day(1))], 'oldest first'],
    ['nothing: ids that rise and fall', [ref('7'), ref('3'), ref('5')], undefined],
  ])('is told by %s', (_, messages, direction) => {
    expect(directionOf(messages)).toBe(direction);
  });

  it('is that of the service, where nothing tells it: a newest-first history is reversed', () => {
    const untold = ['b', 'c', 'a'].map((id) => ref(id));
    expect(sortOldestFirst(untold, 'newest first')).toEqual(untold.toReversed());
    expect(sortOldestFirst(untold)).toEqual(untold);
  });

  it('property: is that of the times, however the service sends the messages', () => {
    const times = fc.uniqueArray(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 1 });
    const property = fc.property(times, (seconds) => {
      const sent = seconds.map((each) => ref(`id-${each % 7}`, new Date(each * 1000).toISOString()));
      const sorted = sortOldestFirst(sent).map(({ created_at }) => created_at);
      expect(sorted).toEqual(sent.map(({ created_at }) => created_at).toSorted());
    });
    fc.assert(property);
  });
});
