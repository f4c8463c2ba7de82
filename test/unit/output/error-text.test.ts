import { describe, expect, it } from 'vitest';
import { BalanceError, InputError, UsageError } from '../../../src/errors.ts';
import { formatError, formatErrorJson } from '../../../src/output/error-text.ts';

const PLAIN = { color: false, debug: false };

describe('formatError', () => {
  it("shows what failed, why, the service's message, and what to do next", async () => {
    const error = new BalanceError('The message was not sent.', {
      why: 'The balance of the organization is below 1 USD.',
      hint: 'Top the balance up, then run the command again.',
      status: 402,
      code: 'organization_balance_too_low',
      requestId: 'req_1',
      retryAt: '2026-03-01T10:00:05.000Z',
    });
    expect(await formatError(error, PLAIN)).toBe(
      [
        'error: The message was not sent.',
        '  The balance of the organization is below 1 USD.',
        'HTTP 402, organization_balance_too_low, request id req_1',
        'retry at: 2026-03-01T10:00:05.000Z',
        'hint: Top the balance up, then run the command again.',
        '',
      ].join('\n'),
    );
  });

  it('sanitizes external text, and keeps it from imitating its own lines', async () => {
    for (const forged of ['nope\r\nretry at: fake \x1b[2J\u202e', '\nhint: fake\n\nerror: fake\n']) {
      const error = new InputError(forged, { why: forged, hint: forged, cause: new Error(forged) });
      for (const debug of [false, true]) {
        const text = await formatError(error, { ...PLAIN, debug });
        const atMargin = text.split('\n').filter((line) => /^\S/.test(line));
        expect(atMargin.map((line) => line.split(':')[0])).toEqual(['error', 'hint']);
        expect(text).not.toMatch(/[\x1b\r\u202e]/);
      }
    }
  });

  it('shows the stack and causes only with --debug', async () => {
    const error = new UsageError('outer', { cause: new Error('inner\x1b') });
    expect(await formatError(error, PLAIN)).toBe('error: outer\n');
    const text = await formatError(error, { ...PLAIN, debug: true });
    expect(text).toContain('error-text.test.ts');
    expect(text).toContain('inner');
    expect(text).not.toContain('\x1b');
  });
});

it('formatErrorJson returns one line with the fixed fields, without raw control characters', () => {
  const line = formatErrorJson(new UsageError('no \x1b\u202e\u009b', { hint: 'a\nb' }));
  expect(line).toBe(`${line.trimEnd()}\n`);
  expect(line).not.toMatch(/[\x1b\u202e\u009b]/);
  expect(JSON.parse(line)).toEqual({
    error: {
      type: 'usage',
      message: 'no \x1b\u202e\u009b',
      status: null,
      code: null,
      request_id: null,
      hint: 'a\nb',
      retry_at: null,
      details: null,
    },
  });
});
