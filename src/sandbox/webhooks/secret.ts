import { randomBytes } from 'node:crypto';
import type { Webhook } from '../store/changes.ts';

const PREFIX = 'whsec_';

/** Creates a Standard Webhooks secret of 256 random bits. */
export function createWebhookSecret(): string {
  return `${PREFIX}${randomBytes(32).toString('base64')}`;
}

/** Whether a text is a secret of Standard Webhooks: `whsec_`, then 24 to 64 bytes in Base64. */
export function isWebhookSecret(text: string): boolean {
  const encoded = text.slice(PREFIX.length);
  const key = Buffer.from(encoded, 'base64');
  return text.startsWith(PREFIX) && key.toString('base64') === encoded && key.length >= 24 && key.length <= 64;
}

/** The oldest secrets expire early beyond this: every secret adds a signature to the header. */
const MAX_SECRETS = 5;

/**
 * Returns the secrets after a rotation.
 * @param graceEndsAt when the old secrets expire at the latest, in milliseconds since the epoch
 */
export function rotateSecrets(
  secrets: Webhook['secrets'],
  secret: string,
  { now, graceEndsAt }: { now: number; graceEndsAt: number },
): Webhook['secrets'] {
  const former = secrets
    .filter((each) => each.secret !== secret && (each.expires_at === null || each.expires_at > now))
    .map((each) => ({ ...each, expires_at: Math.min(each.expires_at ?? graceEndsAt, graceEndsAt) }));
  return [{ secret, expires_at: null }, ...former].slice(0, MAX_SECRETS);
}
