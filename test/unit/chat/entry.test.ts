import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEntry } from '../../../src/chat/entry.ts';

describe('what is entered in a conversation', () => {
  it.each([
    ['hello', { kind: 'message', text: 'hello' }],
    ['  two\nlines ', { kind: 'message', text: '  two\nlines ' }],
    ['//path', { kind: 'message', text: '/path' }],
    ['', { kind: 'nothing' }],
    [' \n ', { kind: 'nothing' }],
    ['/quit', { kind: 'quit' }],
    ['/help me', { kind: 'help' }],
    ['/session', { kind: 'session', session: undefined }],
    ['/session  ticket-42 ', { kind: 'session', session: 'ticket-42' }],
    ['/', { kind: 'unknown', word: '' }],
    ['/qiut', { kind: 'unknown', word: 'qiut' }],
  ])('%j', (text, entry) => {
    expect(readEntry(text)).toEqual(entry);
  });

  it('property: what does not begin with a slash is sent as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(text.trim() !== '' && !text.startsWith('/'));
        expect(readEntry(text)).toEqual({ kind: 'message', text });
      }),
    );
  });
});
