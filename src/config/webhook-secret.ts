import type { Readable } from 'node:stream';
import { describeFileError, UsageError } from '../errors.ts';
import { decodeText, readFileChunks, readStdin } from '../platform/input.ts';
import type { Environment } from '../platform/io.ts';

interface SecretSources {
  /** The value of `--secret-file`; `-` for standard input. */
  readonly secretFile: string | undefined;
  readonly env: Environment;
  /** A function, because reading `io.stdin` opens it. */
  readonly stdin: () => Readable;
  readonly signal: AbortSignal;
}

/** At least one webhook secret. */
export interface WebhookSecrets {
  readonly secrets: readonly string[];
  /** `PARTNER_WEBHOOK_SECRET`, `--secret-file hook.key`, `standard input`. */
  readonly from: string;
}

const MAX_MIB = 1;

/**
 * Reads the webhook secrets from `--secret-file`, or else from PARTNER_WEBHOOK_SECRET: one per line, so that both the old and
 * the new one are valid while a secret is replaced.
 * @returns undefined if neither is given
 * @throws UsageError if there is no secret in it, or the file cannot be read; the signal's reason
 */
export async function readWebhookSecrets(sources: SecretSources): Promise<WebhookSecrets | undefined> {
  const { secretFile, env, stdin, signal } = sources;
  let from = 'PARTNER_WEBHOOK_SECRET';
  let text = env.PARTNER_WEBHOOK_SECRET;
  if (secretFile !== undefined) {
    from = secretFile === '-' ? 'standard input' : `--secret-file ${secretFile}`;
    try {
      const chunks = secretFile === '-' ? readStdin(stdin(), signal) : readFileChunks(secretFile, signal);
      text = await decodeText(chunks, MAX_MIB);
    } catch (error) {
      signal.throwIfAborted();
      throw new UsageError(`The webhook secret cannot be read from ${from}.`, {
        why: describeFileError(error),
        hint: 'Name a file with the secret, or set PARTNER_WEBHOOK_SECRET.',
        cause: error,
      });
    }
  }
  if (text === undefined) return undefined;
  const secrets = text.split('\n').flatMap((line) => line.trim() || []);
  if (secrets.length > 0) return { secrets, from };
  throw new UsageError(`The webhook secret from ${from} is empty.`, {
    hint: 'Put the secret that the sender signs with there. Several secrets go on a line each.',
  });
}
