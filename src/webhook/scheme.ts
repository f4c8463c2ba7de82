import { UsageError } from '../errors.ts';

/** A part of the signed content. */
type SignedPart =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'body' }
  /** The value of a header. */
  | { readonly kind: 'timestamp' | 'id'; readonly header: string };

/** How a sender signs: an HMAC over parts of the delivery. Only the user chooses it, never a delivery. */
export interface Scheme {
  /** The header with one or more signatures. */
  readonly header: string;
  /** The text before each signature. */
  readonly prefix: string;
  readonly encoding: 'hex' | 'base64';
  readonly algorithm: 'sha256' | 'sha1' | 'sha512';
  readonly signedContent: readonly SignedPart[];
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

/**
 * Parses a template such as `{timestamp}.{body}`.
 * @throws UsageError for an unknown placeholder, or if the body is not part of what is signed
 */
function parseSignedContent(template: string): readonly SignedPart[] {
  const parts = template.split(/(\{[^{}]*\})/).filter((text) => text !== '');
  const parsed = parts.map((text): SignedPart => {
    if (text === '{body}') return { kind: 'body' };
    const [, kind, header = `webhook-${kind}`] = /^\{(timestamp|id)(?::([^{}]+))?\}$/.exec(text) ?? [];
    if ((kind === 'timestamp' || kind === 'id') && HEADER_NAME.test(header)) return { kind, header };
    if (!/[{}]/.test(text)) return { kind: 'literal', text };
    throw new UsageError(`--signed-content has an unknown placeholder: ${text}`, {
      hint: 'Use {body}, {timestamp}, {id}, {timestamp:<header>}, and {id:<header>}, as in {timestamp}.{body}',
    });
  });
  if (parsed.some(({ kind }) => kind === 'body')) return parsed;
  throw new UsageError('--signed-content has no {body}, so the signature would prove nothing.');
}

/** Standard Webhooks (https://www.standardwebhooks.com). */
export const STANDARD_WEBHOOKS: Scheme = {
  header: 'webhook-signature',
  prefix: 'v1,',
  encoding: 'base64',
  algorithm: 'sha256',
  signedContent: parseSignedContent('{id}.{timestamp}.{body}'),
  hasEncodedKeys: true,
};

/** @returns undefined to verify nothing @throws UsageError if the options are invalid or contradict each other */
export function parseScheme({ verify, secretFile, ...ofHmac }: SchemeOptions): Scheme | undefined {
  const { header, prefix = '', encoding = 'hex', algorithm = 'sha256', signedContent = '{body}' } = ofHmac;
  if (verify === 'hmac') {
    if (header === undefined || !HEADER_NAME.test(header)) {
      throw new UsageError('--verify hmac needs --header: the name of the header with the signature.');
    }
    const parts = parseSignedContent(signedContent);
    return { header, prefix, encoding, algorithm, signedContent: parts, hasEncodedKeys: false };
  }
  if (Object.values(ofHmac).some((value) => value !== undefined)) {
    throw new UsageError('--header, --prefix, --encoding, --algorithm, and --signed-content need --verify hmac.');
  }
  if (verify === 'standard-webhooks') return STANDARD_WEBHOOKS;
  if (secretFile === undefined) return undefined;
  throw new UsageError('--secret-file needs --verify standard-webhooks, or --verify hmac.');
}
