import { UsageError } from '../errors.ts';

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

/** The options of `webhook listen` that say how deliveries are verified. */
export interface SchemeOptions extends Partial<Pick<Scheme, 'encoding' | 'algorithm'>> {
  readonly verify: 'none' | 'standard-webhooks' | 'hmac';
  readonly secretFile?: string | undefined;
  readonly header?: string | undefined;
  readonly prefix?: string | undefined;
  readonly signedContent?: string | undefined;
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const PLACEHOLDER = /^(?:body|(?:timestamp|id)(?::[\w!#$%&'*+.^`|~-]+)?)$/;

/** Splits a template: literal texts and, at odd positions, what placeholders have between their braces. */
export function partsOf(template: string): readonly string[] {
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
