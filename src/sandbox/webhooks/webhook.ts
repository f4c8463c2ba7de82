import { createId, type Service, timestamp } from '../service.ts';
import type { Webhook } from '../store/changes.ts';
import { createWebhookSecret, isWebhookSecret } from './secret.ts';

/** The webhook of the options, which each start replaces. */
const GENERAL_ID = 'whk_general';

type WantedWebhook = Pick<Webhook, 'source_id' | 'url' | 'events' | 'secrets'>;

/**
 * What is wrong with the address of a webhook; undefined if the sandbox may send to it. Only this machine's own addresses
 * are allowed: the sandbox delivers what anybody who reaches its admin API writes, and must not become a way to send
 * requests into other networks.
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
export function putWebhook(service: Service, wanted: WantedWebhook, webhook_id = createId('whk')): Webhook {
  const webhook: Webhook = { webhook_id, ...wanted, created_at: timestamp(service) };
  service.store.commit({ kind: 'webhook', webhook });
  return webhook;
}

/**
 * Sets the webhook for every source that the options name. What waits for the former address goes to the new one.
 * @param wanted by default with the secrets that it had, or a new one
 * @returns the secrets, the one in use first
 * @throws Error for an address or a secret that is not valid
 */
export function setGeneralWebhook(
  service: Service,
  wanted: { readonly url: string; readonly secrets?: readonly string[] },
): readonly string[] {
  const problem = webhookUrlProblem(wanted.url);
  if (problem !== undefined) throw new Error(`The address of the webhook ${problem}.`);
  if (wanted.secrets && !wanted.secrets.every(isWebhookSecret)) {
    throw new Error('The secret of the webhook must be whsec_ and 24 to 64 bytes in Base64.');
  }
  const kept = service.store.world.webhooks.get(GENERAL_ID)?.secrets;
  const given = wanted.secrets?.map((secret) => ({ secret, expires_at: null }));
  const secrets = given ?? kept ?? [{ secret: createWebhookSecret(), expires_at: null }];
  putWebhook(service, { source_id: null, url: wanted.url, events: ['message.completed'], secrets }, GENERAL_ID);
  return secrets.map(({ secret }) => secret);
}
