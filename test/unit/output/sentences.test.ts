import { describe, expect, test } from 'vitest';
import { joinSentences, withReason } from '../../../src/output/sentences.ts';

describe('joinSentences', () => {
  test.each([
    [
      'The file could not be written: /proc/x\nThe next run fails.',
      'The file could not be written: /proc/x. The next run fails.',
    ],
    ['the connection was reset\nIts key is k1.', 'the connection was reset. Its key is k1.'],
    ['It failed.\nThe next run repeats it.', 'It failed. The next run repeats it.'],
    ['name: is taken\nagents[0].name: is taken', 'name: is taken; agents[0].name: is taken'],
    ['They differ:\nname is Acme', 'They differ: name is Acme'],
    ['one line', 'one line'],
  ])('joins the lines of %j', (text, joined) => {
    expect(joinSentences(text)).toBe(joined);
  });
});

describe('withReason', () => {
  test.each([
    [
      'No response.',
      'the connection was reset\nIts key is k1.',
      'No response. The connection was reset. Its key is k1.',
    ],
    [
      'The file could not be written: /x',
      'Its path is too long.',
      'The file could not be written: /x. Its path is too long.',
    ],
    ['Refused.', 'agents[0].name: is taken', 'Refused. agents[0].name: is taken'],
    ['Refused.', undefined, 'Refused.'],
  ])('appends to %j the reason %j', (message, reason, text) => {
    expect(withReason(message, reason)).toBe(text);
  });
});
