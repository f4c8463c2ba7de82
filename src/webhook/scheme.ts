import { UsageError } from '../errors.ts';

export const ENCODINGS = ['hex', 'base64'] as const;
export const ALGORITHMS = ['sha256', 'sha1', 'sha512'] as const;

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
  readonly encoding: (typeof ENCODINGS)[number];
  readonly algorithm: (typeof ALGORITHMS)[number];
  readonly signedContent: readonly SignedPart[];
}

/** How to verify deliveries. Only the user chooses it, never a delivery. */
export type Scheme = { readonly kind: 'none' } | { readonly kind: 'standard-webhooks' } | HmacScheme;

export const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Parses a template such as `{timestamp}.{body}`.
 * @throws UsageError for an unknown placeholder, or if the body is not part of what is signed
 */
export function parseSignedContent(template: string): readonly SignedPart[] {
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

/** Returns the header that a scheme signs as the id of the delivery, if the user named one. */
export function idHeaderOf(scheme: Scheme): string | undefined {
  if (scheme.kind !== 'hmac') return undefined;
  const part = scheme.signedContent.find(({ kind }) => kind === 'id');
  return part?.kind === 'id' ? part.header : undefined;
}
