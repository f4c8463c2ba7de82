import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringifyJson } from '../../../src/output/formats/stringify-json.ts';
import { createRedactor, redactHeaders, redactingSink } from '../../../src/output/redact.ts';
import { memorySink } from '../../support/memory-sink.ts';
import { anyCharacter, propertyRuns } from '../../support/properties.ts';

const TOKEN = 'pt_live_9x+/&"\\é 27';

function percentEncode(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

function unicodeEscape(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** One of the escapes of a character that services use. */
function spell(character: string, choice: number): string {
  const code = character.codePointAt(0) ?? 0;
  const percent = percentEncode(character);
  const spellings = [
    character,
    character,
    character,
    percent,
    percent.toUpperCase(),
    percent.replaceAll('%', '%25'),
    percent.replaceAll('%', '%2525'),
    `&#${code};`,
    `&#x${code.toString(16)};`,
    `&amp;#${code};`,
    unicodeEscape(character),
    unicodeEscape(character).replaceAll('\\', '\\\\'),
    unicodeEscape(character).replaceAll(/[0-9a-f]{4}/g, (digits) => digits.toUpperCase()),
    `\\u{${code.toString(16)}}`,
    JSON.stringify(character).slice(1, -1),
    encodeURIComponent(JSON.stringify(character).slice(1, -1)),
  ];
  return spellings[choice % spellings.length] ?? character;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('createRedactor', () => {
  it.each([
    ['raw', TOKEN],
    ['in JSON', JSON.stringify(TOKEN).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(TOKEN)).slice(3, -3)],
    ['in JSON that escapes slashes', JSON.stringify(TOKEN).slice(1, -1).replace('/', '\\/')],
    ['in JSON made safe for HTML', JSON.stringify(TOKEN).slice(1, -1).replace('+', '\\u002B').replace('&', '\\u0026')],
    ['percent-encoded', encodeURIComponent(TOKEN)],
    ['percent-encoded in lower case', encodeURIComponent(TOKEN).replace(/%../g, (code) => code.toLowerCase())],
    ['percent-encoded twice', encodeURIComponent(encodeURIComponent(TOKEN))],
    ['in JSON in a URL', encodeURIComponent(JSON.stringify(TOKEN).slice(1, -1))],
    ['in a query', new URLSearchParams({ t: TOKEN }).toString().slice(2)],
    ['in HTML', TOKEN.replace('&', '&amp;').replace('"', '&quot;').replace('+', '&plus;')],
    ['in HTML in JSON', TOKEN.replace('\\', '\\\\').replace('&', '\\u0026amp;').replace('"', '\\u0026#34;')],
    ['in HTML twice', TOKEN.replace('&', '&amp;amp;').replace('"', '&amp;#x22;')],
    ['as decimal references', Array.from(TOKEN, (each) => `&#${each.codePointAt(0)};`).join('')],
    ['as hexadecimal references', Array.from(TOKEN, (each) => `&#X00${each.codePointAt(0)?.toString(16)}`).join('')],
    ['as \\u escapes', Array.from(TOKEN, (each) => `\\u00${each.charCodeAt(0).toString(16)}`).join('')],
    ['in hexadecimal', Buffer.from(TOKEN).toString('hex')],
    ['in upper-case hexadecimal', Buffer.from(TOKEN).toString('hex').toUpperCase()],
  ])('finds a secret %s', (_name, encoded) => {
    const { redact } = createRedactor([TOKEN]);
    expect(redact(`before ${encoded} after`)).toBe('before [redacted] after');
  });

  it.each(['', 'Bearer ', 'user:', 'x', 'xy'])('finds the base64 of a secret after %j', (before) => {
    const { redact } = createRedactor(['sk-0123456789']);
    const shown = redact(`<${base64(`${before}sk-0123456789`)}>`);
    expect(shown).toContain('[redacted]');
    expect(Buffer.from(shown.replace('[redacted]', ''), 'base64').toString()).not.toMatch(/\d{2}/);
    expect(redact(Buffer.from(`${before}sk-0123456789`).toString('base64url'))).toContain('[redacted]');
  });

  it('finds the base64 of a secret, escaped for a URL or JSON', () => {
    const secret = '>>>???~~~>>>???~~~';
    const { redact } = createRedactor([secret]);
    expect(redact(encodeURIComponent(base64(secret)))).toBe('[redacted]');
    expect(redact(base64(secret).replaceAll('/', '\\/'))).toBe('[redacted]');
  });

  it('ignores secrets shorter than 6 characters', () => {
    const { redact } = createRedactor(['short', '', TOKEN]);
    expect(redact('a short text')).toBe('a short text');
  });

  it('finds secrets that are added later', () => {
    const redactor = createRedactor();
    expect(redactor.redact('abcdefgh')).toBe('abcdefgh');
    redactor.add('abcdefgh');
    expect(redactor.redact('>abcdefgh<')).toBe('>[redacted]<');
  });

  it('leaves no part of secrets that overlap or touch each other', () => {
    const { redact } = createRedactor(['abcdefgh', 'ghijklmn']);
    expect(redact('abcdefghijklmn.')).toBe('[redacted].');
    expect(redact('abcdefghabcdefgh')).toBe('[redacted]');
    expect(createRedactor(['aaaaaaaa']).redact('aaaaaaaaaaa')).toBe('[redacted]');
  });

  it('finds a secret as the JSON output escapes it', () => {
    const secret = 'sec"ret \u202e text';
    expect(createRedactor([secret]).redact(stringifyJson({ secret }))).toBe('{"secret":"[redacted]"}');
  });

  it('finds a secret in JSON that escapes less than the JSON output', () => {
    const secret = '\x7f secret \x00 text';
    expect(createRedactor([secret]).redact(JSON.stringify({ secret }))).toBe('{"secret":"[redacted]"}');
  });

  it('finds a secret with a lone surrogate', () => {
    expect(createRedactor(['secret \ud83d text']).redact('a secret \ud83d text')).toBe('a [redacted]');
  });

  const anyPlain = fc.string({ unit: anyCharacter, maxLength: 20 });
  const anyEscapes = fc
    .array(fc.constantFrom('%', '25', '&', 'amp;', '#', '\\', 'u00', 'x', '4', ';', 'a', '"', '/', '{', '}', '+'))
    .map((parts) => parts.join(''));
  const anyAround = fc.oneof(anyPlain, anyEscapes);

  it('property: redacts any mixture of raw and escaped characters', () => {
    const spelled = fc.array(fc.tuple(anyCharacter, fc.nat()), { minLength: 8, maxLength: 40 }).map((characters) => ({
      secret: characters.map(([character]) => character).join(''),
      spelling: characters.map(([character, choice]) => spell(character, choice)).join(''),
    }));
    fc.assert(
      fc.property(spelled, anyAround, anyAround, ({ secret, spelling }, before, after) => {
        const shown = createRedactor([secret]).redact(`${before}${spelling}${after}`);
        expect(shown).toContain('[redacted]');
        // A longer text would contain a part of the secret.
        expect(shown.length).toBeLessThanOrEqual(`${before}[redacted]${after}`.length);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('property: leaves texts without a secret unchanged', () => {
    const { redact } = createRedactor(['pt_live_9x+/Zq7', 'a secret with spaces']);
    fc.assert(
      fc.property(fc.array(anyAround), (parts) => {
        expect(redact(parts.join(''))).toBe(parts.join(''));
      }),
    );
  });
});

describe('redactingSink', () => {
  it('redacts each write and keeps the properties of the terminal', async () => {
    const inner = memorySink({ isTTY: true, columns: 132 });
    const sink = redactingSink(inner, createRedactor([TOKEN]));
    await sink.write(`token ${TOKEN}\n`);
    expect(inner.text()).toBe('token [redacted]\n');
    expect([sink.isTTY, sink.columns]).toEqual([true, 132]);
  });
});

describe('redactHeaders', () => {
  it('redacts credentials, whatever the case of the header name', () => {
    expect(
      redactHeaders({
        Authorization: 'Bearer x',
        'proxy-authorization': 'Basic x',
        COOKIE: 'a=b',
        'set-cookie': ['a=b', 'c=d'],
        accept: 'application/json',
      }),
    ).toEqual({
      Authorization: '[redacted]',
      'proxy-authorization': '[redacted]',
      COOKIE: '[redacted]',
      'set-cookie': '[redacted]',
      accept: 'application/json',
    });
  });
});
