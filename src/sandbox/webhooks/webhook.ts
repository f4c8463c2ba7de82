import { createId, type Service, timestamp } from '../service.ts';
import type { Webhook } from '../store/changes.ts';
import { createWebhookSecret, isWebhookSecret } from './secret.ts';

/** The id of the webhook of the options, which each start replaces. */
const GENERAL_ID = 'whk_general';

type NewWebhook = Pick<Webhook, 'source_id' | 'url' | 'events' | 'secrets'>;

/**
 * Describes what is wrong with the URL of a webhook; undefined if the sandbox may send to it. Only loopback addresses are
 * allowed: whoever reaches the admin API must not be able to send requests into other networks through the sandbox.
 */
export function webhookUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL such as http://127.0.0.1:4000/webhooks';
  const { protocol, username, password, hostname } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return 'must begin with http:// or https://';
  if (username !== '' || password !== '') return 'must have no user name and no password';
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  if (isLoopback) return undefined;
  return 'must be on this machine (127.0.0.1, [::1], or localhost): the sandbox sends no requests into other networks';
}

/** Adds a webhook, or replaces the one with the same id. */
export function putWebhook(service: Service, input: NewWebhook, webhook_id = createId('whk')): Webhook {
  const webhook: Webhook = { webhook_id, ...input, created_at: timestamp(service) };
  service.store.commit({ kind: 'webhook', webhook });
  return webhook;
}

/**
 * Sets the webhook for every source. Pending deliveries for the previous URL go to the new one.
 * @param options `secrets` by default those that it had, or a new one
 * @returns the secrets, the one in use first
 * @throws Error for an invalid URL or secret
 */
export function setGeneralWebhook(
  service: Service,
  options: { readonly url: string; readonly secrets?: readonly string[] },
): readonly string[] {
  const problem = webhookUrlProblem(options.url);
  if (problem !== undefined) throw new Error(`The URL of the webhook ${problem}.`);
  if (options.secrets && !options.secrets.every(isWebhookSecret)) {
    throw new Error('The secret of the webhook must be whsec_ and 24 to 64 bytes in Base64.');
  }
  const kept = service.store.world.webhooks.get(GENERAL_ID)?.secrets;
  const given = options.secrets?.map((secret) => ({ secret, expires_at: null }));
  const secrets = given ?? kept ?? [{ secret: createWebhookSecret(), expires_at: null }];
  putWebhook(service, { source_id: null, url: options.url, events: ['message.completed'], secrets }, GENERAL_ID);
  return secrets.map(({ secret }) => secret);
}
