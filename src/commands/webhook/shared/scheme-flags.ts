import type { Args, FlagSpec } from '../../../cli/command.ts';
import { UsageError } from '../../../errors.ts';
import {
  ALGORITHMS,
  ENCODINGS,
  HEADER_NAME,
  type HmacScheme,
  parseSignedContent,
  type Scheme,
} from '../../../webhook/scheme.ts';

const SCHEMES = ['none', 'standard-webhooks', 'hmac'] as const;

/** The flags that say how deliveries are verified. */
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

/** Parses SCHEME_FLAGS. @throws UsageError if they are invalid or contradict each other */
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
