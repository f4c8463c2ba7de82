import { createHmac, timingSafeEqual } from 'node:crypto';
import { UsageError } from '../errors.ts';
import { headerValue, type SentWebhook, type Verdict } from './delivery.ts';

/** How a sender signs: an HMAC over parts of the delivery. Only the user chooses it, never a delivery. */
export interface Scheme {
  /** The header with one or more signatures. */
  readonly header: string;
  /** The text before each signature. */
  readonly prefix: string;
  readonly encoding: 'hex' | 'base64';
  readonly algorithm: 'sha256' | 'sha1' | 'sha512';
  /** A template of what is signed: `{id}.{timestamp}.{body}`. */
  readonly signedContent: string;
  /** Whether secrets are keys in base64, with or without the prefix `whsec_`. */
  readonly hasEncodedKeys: boolean;
}

export interface SchemeOptions extends Partial<Omit<Scheme, 'hasEncodedKeys'>> {
  readonly verify: 'none' | 'standard-webhooks' | 'hmac';
  readonly secretFile?: string | undefined;
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const PLACEHOLDER = /^(?:body|(?:timestamp|id)(?::[\w!#$%&'*+.^`|~-]+)?)$/;

/** Splits a template: literal texts and, at odd positions, what placeholders have between their braces. */
function partsOf(template: string): readonly string[] {
  return template.split(/\{([^{}]*)\}/);
}

/** @throws UsageError for an unknown placeholder, or if the body is not part of what is signed */
function checkSignedContent(template: string): string {
  if (!partsOf(template).every((part, at) => (at % 2 === 0 ? !/[{}]/.test(part) : PLACEHOLDER.test(part)))) {
    throw new UsageError(`--signed-content has an unknown placeholder: ${template}`, {
      hint: 'Use {body}, {timestamp}, {id}, {timestamp:<header>}, and {id:<header>}, as in {timestamp}.{body}',
    });
  }
  if (template.includes('{body}')) return template;
  throw new UsageError('--signed-content has no {body}, so the signature would prove nothing.');
}

/** Standard Webhooks (https://www.standardwebhooks.com). */
export const STANDARD_WEBHOOKS: Scheme = {
  header: 'webhook-signature',
  prefix: 'v1,',
  encoding: 'base64',
  algorithm: 'sha256',
  signedContent: '{id}.{timestamp}.{body}',
  hasEncodedKeys: true,
};

/** @returns undefined to verify nothing @throws UsageError if the options are invalid or contradict each other */
export function parseScheme({ verify, secretFile, ...ofHmac }: SchemeOptions): Scheme | undefined {
  const { header, prefix = '', encoding = 'hex', algorithm = 'sha256', signedContent = '{body}' } = ofHmac;
  if (verify === 'hmac') {
    if (header === undefined || !HEADER_NAME.test(header)) {
      throw new UsageError('--verify hmac needs --header: the name of the header with the signature.');
    }
    const content = checkSignedContent(signedContent);
    return { header, prefix, encoding, algorithm, signedContent: content, hasEncodedKeys: false };
  }
  if (Object.values(ofHmac).some((value) => value !== undefined)) {
    throw new UsageError('--header, --prefix, --encoding, --algorithm, and --signed-content need --verify hmac.');
  }
  if (verify === 'standard-webhooks') return STANDARD_WEBHOOKS;
  if (secretFile === undefined) return undefined;
  throw new UsageError('--secret-file needs --verify standard-webhooks, or --verify hmac.');
}

/** Verifies a delivery. @param now milliseconds since the epoch */
export type Verifier = (sent: SentWebhook, now: number) => Verdict;

/** How far the timestamp of a delivery may be from this machine's clock. */
const TOLERANCE_MS = 5 * 60 * 1000;

/** Compares texts in constant time. */
function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** `t=1767225600` in the signature header. */
const TIME_BESIDE_SIGNATURE = /(?:^|[\s,;])t=([^\s,;]+)/;

/** Returns the signed content, or a clause that says what is missing or which timestamp is wrong. */
function signedContentOf(scheme: Scheme, { headers, body }: SentWebhook, now: number): Buffer | string {
  const content: Buffer[] = [];
  for (const [at, part] of partsOf(scheme.signedContent).entries()) {
    const [kind, header = `webhook-${kind}`] = part.split(':');
    if (at % 2 === 0) content.push(Buffer.from(part));
    else if (kind === 'body') content.push(body);
    else {
      const isTime = kind === 'timestamp';
      const beside = isTime ? TIME_BESIDE_SIGNATURE.exec(headerValue(headers, scheme.header) ?? '')?.[1] : undefined;
      const found = headerValue(headers, header) ?? beside;
      if (found === undefined) return `it has no ${header} header`;
      const isRecent = /^\d+$/.test(found) && Math.abs(now - Number(found) * 1000) <= TOLERANCE_MS;
      if (isTime && !isRecent)
        return 'its timestamp is not within five minutes of the clock of this machine, in seconds';
      content.push(Buffer.from(found, 'latin1'));
    }
  }
  return Buffer.concat(content);
}

/** The signatures in a header, separated by spaces or commas, without their prefix. */
function findSignatures(value: string, prefix: string): readonly string[] {
  const candidates = [value, ...value.split(/\s+/), ...value.split(/[\s,]+/)];
  return candidates.flatMap((each) => (each.startsWith(prefix) ? [each.slice(prefix.length)] : []));
}

/** @throws UsageError if the scheme has keys in base64, and the secret is none */
function toKey(secret: string, { hasEncodedKeys }: Scheme): string | Buffer {
  if (!hasEncodedKeys) return secret;
  const encoded = secret.replace(/^whsec_/, '');
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return Buffer.from(encoded, 'base64');
  throw new UsageError('The webhook secret is not one of Standard Webhooks: base64, with or without whsec_.', {
    hint: 'Copy it from the sender. For a sender with another scheme, use --verify hmac.',
  });
}

/**
 * Creates the function that verifies deliveries.
 * @param scheme undefined to verify nothing
 * @param secrets a signature made with any of them is valid
 * @throws UsageError if a secret does not fit the scheme
 */
export function createVerifier(scheme: Scheme | undefined, secrets: readonly string[]): Verifier {
  if (!scheme) return () => ({ verification: 'not-checked', reason: null });
  const { header, prefix, encoding, algorithm } = scheme;
  const keys = secrets.map((secret) => toKey(secret, scheme));
  return (sent, now) => {
    const value = headerValue(sent.headers, header)?.trim();
    if (!value) return { verification: 'unsigned', reason: `it has no ${header} header` };
    const content = signedContentOf(scheme, sent, now);
    if (typeof content === 'string') return { verification: 'failed', reason: content };
    const signatures = findSignatures(value, prefix);
    const given = encoding === 'hex' ? signatures.map((signature) => signature.toLowerCase()) : signatures;
    const expected = keys.map((key) => createHmac(algorithm, key).update(content).digest(encoding));
    if (expected.some((valid) => given.some((signature) => isEqual(valid, signature)))) {
      return { verification: 'verified', reason: null };
    }
    const reason = 'the signature does not match: the secret or the prefix differs, or the delivery was changed';
    return { verification: 'failed', reason };
  };
}
