import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/contract/json.ts';

describe('JSON with numbers that JavaScript would round', () => {
  it('is not confused by text that looks like the marker of such a number', () => {
    const text = String.raw`{"a":"\u0065xact:zz","b":"exact:1","c":9007199254740993}`;
    expect(parseJson(text)).toEqual({ a: 'exact:zz', b: 'exact:1', c: 9007199254740993n });
  });

  it('property: any text is parsed unchanged, however it is escaped', () => {
    const words = fc.array(fc.constantFrom('exact:', ':', '"', '\\', 'u0065', '9007199254740993', 'x'), {
      maxLength: 6,
    });
    const escaped = (text: string): string =>
      `"${[...text].map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;
    fc.assert(
      fc.property(words, fc.boolean(), (parts, spelled) => {
        const text = parts.join('');
        const body = `[9007199254740993,${spelled ? escaped(text) : JSON.stringify(text)}]`;
        expect(parseJson(body)).toEqual([9007199254740993n, text]);
      }),
    );
  });

  it.each(['', '{', '[1,]', '9007199254740993x', '{"a":9007199254740993'])('rejects %j', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });
});
