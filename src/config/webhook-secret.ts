import { describeFileError, UsageError } from '../errors.ts';
import { decodeText, readFileChunks } from '../platform/input.ts';
import type { Environment } from '../platform/io.ts';

const MAX_MIB = 1;

/**
 * Reads the webhook secrets from `--secret-file`, or else from PARTNER_WEBHOOK_SECRET: one per line, so that both the old and
 * the new one are valid while a secret is replaced.
 * @returns at least one secret; undefined if neither is given
 * @throws UsageError if there is no secret in it, or the file cannot be read; the signal's reason
 */
export async function readWebhookSecrets(
  path: string | undefined,
  env: Environment,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const from = path === undefined ? 'PARTNER_WEBHOOK_SECRET' : `--secret-file ${path}`;
  const text = path === undefined ? env.PARTNER_WEBHOOK_SECRET : await readFile(path, signal);
  if (text === undefined) return undefined;
  const secrets = text.split('\n').flatMap((line) => line.trim() || []);
  if (secrets.length > 0) return secrets;
  throw new UsageError(`The webhook secret from ${from} is empty.`, {
    hint: 'Put the secret that the sender signs with there. Several secrets go on a line each.',
  });
}

async function readFile(path: string, signal: AbortSignal): Promise<string> {
  try {
    return await decodeText(readFileChunks(path, signal), MAX_MIB);
  } catch (error) {
    signal.throwIfAborted();
    const why = describeFileError(error);
    throw new UsageError(`The webhook secret cannot be read from ${path}.`, { why, cause: error });
  }
}
