import { UsageError } from '../errors.ts';

type Encoding = 'hex' | 'base64';
type Algorithm = 'sha256' | 'sha1' | 'sha512';

/** A part of the signed content. */
type SignedPart =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'body' }
  /** The value of a header; undefined means webhook-timestamp or webhook-id. */
  | { readonly kind: 'timestamp' | 'id'; readonly header: string | undefined };

/** The sender's HMAC scheme, as the user describes it. */
export interface HmacScheme {
  readonly kind: 'hmac';
  /** The header with one or more signatures. */
  readonly header: string;
  /** The text before each signature. */
  readonly prefix: string;
  readonly encoding: Encoding;
  readonly algorithm: Algorithm;
  readonly signedContent: readonly SignedPart[];
}

/** How to verify deliveries. Only the user chooses it, never a delivery. */
export type Scheme = { readonly kind: 'none' } | { readonly kind: 'standard-webhooks' } | HmacScheme;

/** The options of `webhook listen` that say how deliveries are verified. Those of hmac are undefined if they are not given. */
export interface SchemeOptions {
  readonly verify: Scheme['kind'];
  readonly secretFile?: string | undefined;
  readonly header?: string | undefined;
  readonly prefix?: string | undefined;
  readonly encoding?: Encoding | undefined;
  readonly algorithm?: Algorithm | undefined;
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
    const [, kind, header] = /^\{(timestamp|id)(?::([^{}]+))?\}$/.exec(text) ?? [];
    if ((kind === 'timestamp' || kind === 'id') && (header === undefined || HEADER_NAME.test(header))) {
      return { kind, header };
    }
    if (!/[{}]/.test(text)) return { kind: 'literal', text };
    throw new UsageError(`--signed-content has an unknown placeholder: ${text}`, {
      hint: 'Use {body}, {timestamp}, {id}, {timestamp:<header>}, and {id:<header>}, as in {timestamp}.{body}',
    });
  });
  if (parsed.some(({ kind }) => kind === 'body')) return parsed;
  throw new UsageError('--signed-content has no {body}.', {
    why: 'A signature that does not cover the body proves nothing about it.',
    hint: 'Write it as in {timestamp}.{body}',
  });
}

function parseHmac({ header, prefix = '', ...options }: SchemeOptions): HmacScheme {
  const { encoding = 'hex', algorithm = 'sha256', signedContent = '{body}' } = options;
  if (header === undefined) {
    throw new UsageError('--header is missing.', {
      hint: '--verify hmac needs the name of the header with the signature.',
    });
  }
  if (!HEADER_NAME.test(header)) {
    throw new UsageError(`--header is not a valid header name: ${JSON.stringify(header)}.`);
  }
  return { kind: 'hmac', header, prefix, encoding, algorithm, signedContent: parseSignedContent(signedContent) };
}

/** @throws UsageError if the options are invalid or contradict each other */
export function parseScheme(options: SchemeOptions): Scheme {
  const { verify, secretFile, header, prefix, encoding, algorithm, signedContent } = options;
  if (verify === 'hmac') return parseHmac(options);
  const ofHmac = { header, prefix, encoding, algorithm, 'signed-content': signedContent };
  const [unusable] = Object.entries(ofHmac).filter(([, value]) => value !== undefined);
  if (unusable) throw new UsageError(`--${unusable[0]} can only be used with --verify hmac.`);
  if (verify === 'none' && secretFile !== undefined) {
    throw new UsageError('--secret-file needs --verify.', {
      hint: 'Add --verify standard-webhooks, or --verify hmac with --header.',
    });
  }
  return { kind: verify };
}

/** Returns the header that a scheme signs as the id of the delivery, if the user named one. */
export function idHeaderOf(scheme: Scheme): string | undefined {
  if (scheme.kind !== 'hmac') return undefined;
  const part = scheme.signedContent.find(({ kind }) => kind === 'id');
  return part?.kind === 'id' ? part.header : undefined;
}
