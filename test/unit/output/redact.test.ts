import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { createRedactor, redactHeaders } from '../../../src/output/redact.ts';
import { propertyRuns } from '../../support/properties.ts';

/** A character as it is, and as JSON and URLs escape it. */
function spell(character: string, choice: number): string {
  const unicode = `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const url = encodeURIComponent(character);
  const inJson = JSON.stringify(character).slice(1, -1);
  const spellings = [character, url, url.toLowerCase(), unicode, inJson];
  return /^[\dA-Za-z]$/.test(character) ? character : (spellings[choice % spellings.length] ?? character);
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('createRedactor', () => {
  it.each(['', 'x', 'xy'])('finds the base64 of a secret after %j', (before) => {
    const { redact } = createRedactor(['sk-0123456789']);
    const shown = redact(`<${base64(`${before}sk-0123456789`)}>`);
    expect(shown).toContain('[redacted]');
    expect(Buffer.from(shown.replace('[redacted]', ''), 'base64').toString()).not.toMatch(/\d{2}/);
    expect(redact(Buffer.from(`${before}sk-0123456789`).toString('base64url'))).toContain('[redacted]');
  });

  it('ignores secrets shorter than 6 characters', () => {
    const { redact } = createRedactor(['short', '']);
    expect(redact('a short text')).toBe('a short text');
  });

  it('property: redacts any mixture of raw and escaped characters, and nothing else', () => {
    const ascii = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 });
    const spelled = fc.array(fc.tuple(ascii, fc.nat()), { minLength: 8, maxLength: 40 }).map((characters) => ({
      secret: characters.map(([character]) => character).join(''),
      spelling: characters.map(([character, choice]) => spell(character, choice)).join(''),
    }));
    fc.assert(
      fc.property(spelled, ({ secret, spelling }) => {
        expect(createRedactor([secret]).redact(`<\n${spelling}\n>`)).toBe('<\n[redacted]\n>');
      }),
      { numRuns: propertyRuns(100) },
    );
  });
});

test('redactHeaders redacts credentials, whatever the case of the header name', () => {
  const headers = { Authorization: 'Bearer x', 'set-cookie': ['a=b', 'c=d'], accept: 'application/json' };
  const mark = '[redacted]';
  expect(redactHeaders(headers)).toEqual({ Authorization: mark, 'set-cookie': mark, accept: 'application/json' });
});
