import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Renumbered } from '../../../src/chat/renumbered.ts';

const told = (ids: readonly string[], text = 'Hi!') => ids.map((message_id) => ({ message_id, role: 'user', text }));

describe('whether a service gives new ids in every answer', () => {
  it('is doubted when two answers tell the same, and known when the same question brings new ids', () => {
    const renumbered = new Renumbered();
    const findings = [
      ['a', 'b'],
      ['c', 'd'],
      ['e', 'f'],
    ].map((ids) => renumbered.look(told(ids)));
    expect(findings).toEqual(['fine', 'ask again', 'renumbered']);
  });

  it.each([
    [['c', 'd'], 'the same page'],
    [['a', 'b'], 'the page before'],
    [['b', 'x'], 'a part of it'],
  ])('is not so when that brings %j: %s', (ids) => {
    const renumbered = new Renumbered();
    renumbered.look(told(['a', 'b']));
    expect(renumbered.look(told(['c', 'd']))).toBe('ask again');
    expect(renumbered.look(told(ids))).toBe('fine');
    expect(renumbered.look(told(['y', 'z']))).toBe('fine');
  });

  it('is not doubted for other texts, nor for an answer without messages', () => {
    const renumbered = new Renumbered();
    const answers = [told(['a']), told(['b'], 'Ho!'), told([]), told(['c'], 'Ho'), told(['d', 'e'], 'Ho')];
    expect(answers.map((answer) => renumbered.look(answer))).toEqual(['fine', 'fine', 'fine', 'fine', 'fine']);
  });

  it('property: is never found of one whose ids stay', () => {
    const texts = fc.array(fc.constantFrom('ok', 'no'), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 4 }), (history, size) => {
        const renumbered = new Renumbered();
        let steps = 0;
        for (let from = 0; from < history.length; ) {
          const page = history.slice(from, from + size).flatMap((text, index) => told([`m${from + index}`], text));
          const finding = renumbered.look(page);
          expect(finding).not.toBe('renumbered');
          if (finding !== 'ask again') from += size;
          steps += 1;
        }
        expect(steps).toBeLessThanOrEqual(Math.ceil(history.length / size) + 1);
      }),
    );
  });
});
