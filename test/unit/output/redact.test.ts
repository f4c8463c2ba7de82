import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringifyJson } from '../../../src/output/formats/stringify-json.ts';
import { createRedactor, redactHeaders, redactingSink } from '../../../src/output/redact.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { memorySink } from './memory-sink.ts';

const TOKEN = 'pt_live_9x+/&"\\é 27';

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
    ['in a query', new URLSearchParams({ t: TOKEN }).toString().slice(2)],
    ['in hexadecimal', Buffer.from(TOKEN).toString('hex')],
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

  it('leaves no piece of secrets that overlap or touch each other', () => {
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

  it('property: never leaks a secret, wherever and however often it occurs', () => {
    const secret = fc
      .string({ unit: anyCharacter, minLength: 8, maxLength: 60 })
      .filter((text) => !'[redacted]'.includes(text) && text.trim().length >= 8);
    fc.assert(
      fc.property(secret, fc.array(fc.string({ unit: anyCharacter })), (hidden, around) => {
        const { redact } = createRedactor([hidden]);
        expect(redact(around.join(hidden))).not.toContain(hidden);
        expect(redact(JSON.stringify(around.join(hidden)))).not.toContain(JSON.stringify(hidden).slice(1, -1));
        expect(redact(encodeURIComponent(`${around[0]}${hidden}`))).not.toContain(encodeURIComponent(hidden));
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
