import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import type { HeaderList, SentWebhook } from '../../../src/webhook/delivery.ts';
import { createVerifier, type Scheme, STANDARD_WEBHOOKS } from '../../../src/webhook/verify.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const SECRET = `whsec_${Buffer.from('a secret of 24 bytes....').toString('base64')}`;
const OTHER_SECRET = `whsec_${randomBytes(32).toString('base64')}`;

interface Signing {
  readonly secret?: string;
  readonly id?: string;
  readonly at?: number;
}

/** A delivery signed by the reference package. */
function signed(body: string, { secret = SECRET, id = 'msg_1', at = NOW }: Signing = {}): SentWebhook {
  const headers: HeaderList = [
    ['Webhook-Id', id],
    ['Webhook-Timestamp', String(Math.floor(at / 1000))],
    ['Webhook-Signature', new Webhook(secret).sign(id, new Date(at), body)],
  ];
  return { headers, body: Buffer.from(body) };
}

function withHeader({ headers, body }: SentWebhook, name: string, value: string | undefined): SentWebhook {
  const others = headers.filter(([key]) => key.toLowerCase() !== name);
  return { headers: value === undefined ? others : [...others, [name, value]], body };
}

function signatureOf({ headers }: SentWebhook): string {
  return headers.find(([name]) => name === 'Webhook-Signature')?.[1] ?? '';
}

function judge(delivery: SentWebhook) {
  return createVerifier(STANDARD_WEBHOOKS, [SECRET])(delivery, NOW).verification;
}

describe('Standard Webhooks', () => {
  test('verifies what the reference package signs, whatever the body and the id', () => {
    const verify = createVerifier(STANDARD_WEBHOOKS, [SECRET]);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^[\w.-]{1,40}$/), (body, id) => {
        expect(verify(signed(body, { id }), NOW)).toEqual({ verification: 'verified', reason: null });
      }),
    );
  });

  test('rejects one changed byte of the body, and another or no id or time', () => {
    const verify = createVerifier(STANDARD_WEBHOOKS, [SECRET]);
    const good = signed('{"text":"Hello"}');
    for (let index = 0; index < good.body.length; index += 1) {
      const body = Buffer.from(good.body);
      body[index] = (body[index] ?? 0) ^ 1;
      expect(verify({ ...good, body }, NOW).verification).toBe('failed');
    }
    for (const [name, value] of [
      ['webhook-id', 'msg_2'],
      ['webhook-timestamp', String(NOW / 1000 + 1)],
    ] as const)
      for (const changed of [value, undefined])
        expect(verify(withHeader(good, name, changed), NOW).verification).toBe('failed');
  });

  test('allows a timestamp to be five minutes off, by the given clock', () => {
    for (const ms of [-5 * MINUTE, 5 * MINUTE]) expect(judge(signed('x', { at: NOW + ms }))).toBe('verified');
    for (const ms of [-5 * MINUTE - 1000, 5 * MINUTE + 1000]) {
      expect(judge(signed('x', { at: NOW + ms }))).toBe('failed');
    }
  });

  test('accepts one valid signature of several, at any position', () => {
    const good = signed('x');
    const right = signatureOf(good);
    const wrong = signatureOf(signed('x', { secret: OTHER_SECRET }));
    for (const value of [`${wrong} ${right}`, `${right} ${wrong}`, `v1a,other ${right}`, `v2,x  ${right}`]) {
      expect(judge(withHeader(good, 'webhook-signature', value))).toBe('verified');
    }
    for (const value of [wrong, right.replace('v1,', 'v2,'), `${right}x`]) {
      expect(judge(withHeader(good, 'webhook-signature', value))).toBe('failed');
    }
  });
});

const GITHUB: Scheme = {
  header: 'X-Hub-Signature-256',
  prefix: 'sha256=',
  encoding: 'hex',
  algorithm: 'sha256',
  signedContent: '{body}',
  hasEncodedKeys: false,
};

function judgeHmac(scheme: Scheme, headers: HeaderList, body: string) {
  return createVerifier(scheme, ["It's a Secret to Everybody"])({ headers, body: Buffer.from(body) }, NOW);
}

function hmac(text: string): string {
  return createHmac('sha256', "It's a Secret to Everybody").update(text).digest('hex');
}

describe('the generic HMAC', () => {
  test('verifies the example of GitHub', () => {
    const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
    const judged = (body: string) => judgeHmac(GITHUB, [['x-hub-signature-256', signature]], body).verification;
    expect([judged('Hello, World!'), judged('Hello, World?')]).toEqual(['verified', 'failed']);
    expect(judgeHmac(GITHUB, [], 'x').reason).toBe('it has no X-Hub-Signature-256 header');
  });

  test('finds the time and several signatures in one header', () => {
    const signedContent = '{timestamp}.{body}';
    const scheme: Scheme = { ...GITHUB, header: 'Stripe-Signature', prefix: 'v1=', signedContent };
    const time = NOW / 1000;
    const judged = (value: string) => judgeHmac(scheme, [['stripe-signature', value]], '{}');
    expect(judged(`t=${time},v1=${'0'.repeat(64)},v1=${hmac(`${time}.{}`)},v0=1`).verification).toBe('verified');
    for (const at of [time - 301, 'today'])
      expect(judged(`t=${at},v1=${hmac(`${at}.{}`)}`).verification).toBe('failed');
    expect(judged(`t=${time + 1},v1=${hmac(`${time}.{}`)}`).verification).toBe('failed');
    expect(judged(`v1=${hmac(`${time}.{}`)}`).reason).toBe('it has no webhook-timestamp header');
  });
});
