import { isUtf8 } from 'node:buffer';
import { createHmac, timingSafeEqual } from 'node:crypto';
import ms from 'ms';
import { UsageError } from '../errors.ts';
import { type HeaderList, headerValue, headerValues } from './delivery.ts';
import type { HmacScheme, Scheme } from './scheme.ts';

/** `not-checked`: the user chose no scheme. `unsigned`: the delivery has no signature. */
export type Verification = 'verified' | 'failed' | 'unsigned' | 'not-checked';

export interface Verdict {
  readonly verification: Verification;
  /** Why it is `failed` or `unsigned`, as a clause without a period; otherwise null. */
  readonly reason: string | null;
}

/** The part of a delivery that a scheme can sign. */
export interface SignedDelivery {
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** Verifies a delivery. @param now milliseconds since the epoch */
export type Verifier = (delivery: SignedDelivery, now: number) => Verdict;

/** How far the timestamp of a delivery may be from this machine's clock. */
const TOLERANCE_MS = 5 * 60 * 1000;

const VERIFIED: Verdict = { verification: 'verified', reason: null };
const MISMATCH = 'the signature does not match: the secret differs, or the delivery was changed';

function failed(reason: string): Verdict {
  return { verification: 'failed', reason };
}

function unsigned(header: string): Verdict {
  return { verification: 'unsigned', reason: `it has no ${header} header` };
}

/** Compares texts in constant time. */
function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Describes what is wrong with the time of a delivery, as a clause. @param time milliseconds since the epoch, or NaN */
function findTimeProblem(time: number, now: number): string | undefined {
  if (Number.isNaN(time)) return 'its timestamp is not a time';
  const age = now - time;
  if (Math.abs(age) <= TOLERANCE_MS) return undefined;
  const distance = `${ms(Math.abs(age), { long: true })} ${age > 0 ? 'old' : 'ahead'}`;
  return `its timestamp is ${distance}, by the clock of this machine; ${ms(TOLERANCE_MS, { long: true })} are allowed`;
}

/**
 * Creates a verifier for Standard Webhooks. Does not use the package's `verify`, which always reads the system clock.
 * @throws UsageError if a secret is not base64
 */
async function createStandardVerifier(secrets: readonly string[]): Promise<Verifier> {
  const { Webhook } = await import('standardwebhooks');
  const signers = secrets.map((secret) => {
    try {
      return new Webhook(secret);
    } catch (error) {
      throw new UsageError('The webhook secret is not one of Standard Webhooks.', {
        why: 'It is not base64, with or without the prefix whsec_.',
        hint: 'Copy it from the sender. For a sender with another scheme, use --verify hmac.',
        cause: error,
      });
    }
  });
  return ({ headers, body }, now) => {
    const signatures = headerValues(headers, 'webhook-signature').flatMap((value) => value.split(' '));
    if (!signatures.some((signature) => signature !== '')) return unsigned('webhook-signature');
    const id = headerValue(headers, 'webhook-id');
    const timestamp = headerValue(headers, 'webhook-timestamp');
    if (id === undefined || timestamp === undefined) {
      return failed(`it has no ${id === undefined ? 'webhook-id' : 'webhook-timestamp'} header`);
    }
    const time = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1000 : Number.NaN;
    const problem = findTimeProblem(time, now);
    if (problem !== undefined) return failed(problem);
    // The package signs text: bytes that are not UTF-8 would share a signature with other bytes.
    if (!isUtf8(body)) return failed('its body is not UTF-8 text');
    const expected = signers.map((signer) => signer.sign(id, new Date(time), body));
    const matches = expected.some((valid) => signatures.some((signature) => isEqual(valid, signature)));
    return matches ? VERIFIED : failed(MISMATCH);
  };
}

/** `t=1767225600` in the signature header. */
const TIME_BESIDE_SIGNATURE = /(?:^|[\s,;])t=([^\s,;]+)/;

/** Finds the value of a signed timestamp or id. @param header the header that the user named, if any */
function findSigned(
  { header: signatureHeader }: HmacScheme,
  headers: HeaderList,
  kind: 'timestamp' | 'id',
  header: string | undefined,
): string | undefined {
  const found = headerValue(headers, header ?? `webhook-${kind}`);
  if (found !== undefined || header !== undefined || kind === 'id') return found;
  return TIME_BESIDE_SIGNATURE.exec(headerValue(headers, signatureHeader) ?? '')?.[1];
}

/** Parses seconds or milliseconds since the epoch, or a date. NaN for anything else. */
function parseTime(text: string): number {
  if (/^\d{1,11}$/.test(text)) return Number(text) * 1000;
  return /^\d{12,14}$/.test(text) ? Number(text) : Date.parse(text);
}

/** The signatures in a header, separated by spaces or commas, without their prefix. */
function findSignatures(value: string, prefix: string): readonly string[] {
  const candidates = [value, ...value.split(/\s+/), ...value.split(/[\s,]+/)];
  return [...new Set(candidates)].flatMap((candidate) =>
    candidate.startsWith(prefix) ? [candidate.slice(prefix.length)] : [],
  );
}

/** Returns the signed content, or a clause that says what is missing or which timestamp is wrong. */
function signedContentOf(scheme: HmacScheme, { headers, body }: SignedDelivery, now: number): Buffer[] | string {
  const content: Buffer[] = [];
  for (const part of scheme.signedContent) {
    if (part.kind === 'body') {
      content.push(body);
      continue;
    }
    if (part.kind === 'literal') {
      content.push(Buffer.from(part.text));
      continue;
    }
    const { kind, header } = part;
    const found = findSigned(scheme, headers, kind, header);
    if (found === undefined) return `it has no ${header ?? `webhook-${kind}`} header`;
    const problem = kind === 'timestamp' ? findTimeProblem(parseTime(found), now) : undefined;
    if (problem !== undefined) return problem;
    content.push(Buffer.from(found, 'latin1'));
  }
  return content;
}

/** Creates a verifier for an HMAC over the parts of the scheme. */
function createHmacVerifier(scheme: HmacScheme, secrets: readonly string[]): Verifier {
  const { header, prefix, encoding, algorithm } = scheme;
  const isSignedWith = (content: readonly Buffer[], given: readonly string[], secret: string): boolean => {
    const hmac = createHmac(algorithm, secret);
    for (const part of content) hmac.update(part);
    const expected = hmac.digest(encoding);
    return given.some((signature) => isEqual(expected, signature));
  };
  return (delivery, now) => {
    const value = headerValue(delivery.headers, header);
    if (value === undefined) return unsigned(header);
    const content = signedContentOf(scheme, delivery, now);
    if (typeof content === 'string') return failed(content);
    const signatures = findSignatures(value, prefix);
    if (signatures.length === 0) return failed(`its ${header} header has no signature that begins with ${prefix}`);
    const given = encoding === 'hex' ? signatures.map((signature) => signature.toLowerCase()) : signatures;
    return secrets.some((secret) => isSignedWith(content, given, secret)) ? VERIFIED : failed(MISMATCH);
  };
}

/**
 * Creates the function that verifies deliveries.
 * @param secrets a signature made with any of them is valid
 * @throws UsageError if a secret does not fit the scheme
 */
export async function createVerifier(scheme: Scheme, secrets: readonly string[]): Promise<Verifier> {
  switch (scheme.kind) {
    case 'none':
      return () => ({ verification: 'not-checked', reason: null });
    case 'standard-webhooks':
      return createStandardVerifier(secrets);
    case 'hmac':
      return createHmacVerifier(scheme, secrets);
  }
}
