import type { Args, FlagSpec } from '../cli/command.ts';
import { UsageError } from '../errors.ts';

const ENCODINGS = ['hex', 'base64'] as const;
const ALGORITHMS = ['sha256', 'sha1', 'sha512'] as const;
const SCHEMES = ['none', 'standard-webhooks', 'hmac'] as const;

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

/** The flags that `parseScheme` reads. */
export const SCHEME_FLAGS: readonly FlagSpec[] = [
  {
    usage: '--verify <scheme>',
    description: 'how to verify deliveries, with the secret from PARTNER_WEBHOOK_SECRET or --secret-file',
    choices: SCHEMES,
    default: 'none',
  },
  {
    usage: '--secret-file <path>',
    description: 'read the secret from a file, or from standard input with -; several, one per line, are all valid',
  },
  { usage: '--header <name>', description: 'hmac: the header with the signature' },
  { usage: '--prefix <text>', description: 'hmac: the text before the signature, such as sha256=' },
  {
    usage: '--encoding <encoding>',
    description: 'hmac: how the signature is written',
    choices: ENCODINGS,
    default: 'hex',
  },
  { usage: '--algorithm <name>', description: 'hmac: the hash function', choices: ALGORITHMS, default: 'sha256' },
  {
    usage: '--signed-content <template>',
    description:
      'hmac: what is signed: {body}, {timestamp}, {id}; {timestamp:<header>} and {id:<header>} name the header',
    default: '{body}',
  },
];

const HMAC_FLAGS = ['header', 'prefix', 'encoding', 'algorithm', 'signed-content'] as const;

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/** @throws UsageError for an unknown placeholder, or if the body is not part of what is signed */
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

function parseHmac(args: Args): HmacScheme {
  const header = args.required('header', '--verify hmac needs the name of the header with the signature.');
  if (!HEADER_NAME.test(header))
    throw new UsageError(`--header is not a valid header name: ${JSON.stringify(header)}.`);
  return {
    kind: 'hmac',
    header,
    prefix: args.value('prefix') ?? '',
    encoding: ENCODINGS.find((encoding) => encoding === args.value('encoding')) ?? 'hex',
    algorithm: ALGORITHMS.find((algorithm) => algorithm === args.value('algorithm')) ?? 'sha256',
    signedContent: parseSignedContent(args.value('signed-content') ?? '{body}'),
  };
}

/** Parses the flags of a scheme. @throws UsageError if they are invalid or contradict each other */
export function parseScheme(args: Args): Scheme {
  const kind = SCHEMES.find((scheme) => scheme === args.value('verify')) ?? 'none';
  if (kind === 'hmac') return parseHmac(args);
  const unusable = HMAC_FLAGS.find((flag) => args.value(flag) !== undefined);
  if (unusable !== undefined) throw new UsageError(`--${unusable} can only be used with --verify hmac.`);
  if (kind === 'none' && args.value('secret-file') !== undefined) {
    throw new UsageError('--secret-file needs --verify.', {
      hint: 'Add --verify standard-webhooks, or --verify hmac with --header.',
    });
  }
  return { kind };
}
