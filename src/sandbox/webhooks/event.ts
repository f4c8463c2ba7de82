import { arrange } from '../shapes/arrange.ts';
import type { Json } from '../shapes/json.ts';
import { VALUES } from '../shapes/maker.ts';
import type { Shape } from '../shapes/shape.ts';
import type { Message } from '../store/changes.ts';

/** The body of a delivery: the message in the shape, as in the history. */
export function eventBody(shape: Shape, message: Message): string {
  const sent: Json = JSON.parse(JSON.stringify(message));
  const data = arrange(shape, 'message', sent, VALUES);
  return JSON.stringify({ type: 'message.completed', timestamp: message.created_at, data });
}

/**
 * Returns the headers of Standard Webhooks.
 * @param secrets each adds a signature; without any the delivery is not signed
 * @param sentAt milliseconds since the epoch
 */
export async function webhookHeaders(
  { id, sentAt, body }: { id: string; sentAt: number; body: string },
  secrets: readonly string[],
): Promise<Record<string, string>> {
  const { Webhook } = await import('standardwebhooks');
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, new Date(sentAt), body));
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'partnerctl-sandbox',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt / 1_000)),
    ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') }),
  };
}
