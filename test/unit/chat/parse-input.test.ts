import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInput } from '../../../src/chat/open.ts';
import { anyCharacter } from '../../support/properties.ts';

describe('input in a conversation', () => {
  it.each([
    ['hello', { kind: 'message', text: 'hello' }],
    ['  two\nlines ', { kind: 'message', text: '  two\nlines ' }],
    ['//path', { kind: 'message', text: '/path' }],
    ['', { kind: 'empty' }],
    [' \n ', { kind: 'empty' }],
    ['/quit', { kind: 'quit' }],
    ['/help me', { kind: 'help' }],
    ['/', { kind: 'unknown', name: '' }],
    ['/qiut', { kind: 'unknown', name: 'qiut' }],
  ])('is parsed: %j', (text, entry) => {
    expect(parseInput(text)).toEqual(entry);
  });

  it('property: is sent unchanged unless it begins with a slash', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        fc.pre(text.trim() !== '' && !text.startsWith('/'));
        expect(parseInput(text)).toEqual({ kind: 'message', text });
      }),
    );
  });
});
