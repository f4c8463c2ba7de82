import type { Args, FlagSpec } from '../cli/command.ts';
import type { Context } from '../cli/context.ts';
import { UsageError } from '../errors.ts';
import type { SessionRef } from '../state-old/session-ref.ts';
import { type Receiver, startReceiver } from '../webhook/receiver.ts';
import type { Follower, PollTrigger } from './follow-types.ts';

/** Where to receive webhooks. */
export interface WebhookInput {
  readonly port: number;
  readonly path: string | undefined;
}

export const WEBHOOK_FLAGS: readonly FlagSpec[] = [
  {
    usage: '--webhook <port>',
    description: 'receive webhooks on this port of 127.0.0.1, 0 for a free one: each is followed by a poll right away',
  },
  { usage: '--webhook-path <url-path>', description: 'the path to receive them on', defaultText: 'a random one' },
];

const MAX_PORT = 65_535;

/** Parses the flags of WEBHOOK_FLAGS. @throws UsageError */
export function parseWebhook(args: Args): WebhookInput | undefined {
  const path = args.value('webhook-path');
  if (args.value('webhook') === undefined) {
    if (path !== undefined) throw new UsageError('--webhook-path needs --webhook <port>.');
    return undefined;
  }
  if (path !== undefined && !/^\/[^\s?#]*$/.test(path)) {
    throw new UsageError(`--webhook-path must begin with a slash, without a query: ${JSON.stringify(path)}.`);
  }
  return { port: args.count('webhook', { min: 0, max: MAX_PORT, fallback: 0 }), path };
}

/** Up to this many sessions are all polled: a delivery may name its session in a way that is not recognized. */
const FEW_SESSIONS = 6;

/** The sessions that a delivery may be about: of many, those whose id is in its body, if there are any. */
export function sessionsToPoll(sessions: readonly SessionRef[], body: string): readonly SessionRef[] {
  if (sessions.length <= FEW_SESSIONS) return sessions;
  const named = sessions.filter(({ session_id }) => body.includes(JSON.stringify(session_id)));
  return named.length === 0 ? sessions : named;
}

/** Polls as soon as a webhook is delivered. What it says is not trusted: the history alone is shown. */
export class WebhookPolls implements PollTrigger {
  private receiver: Receiver | undefined;
  private follower: Pick<Follower, 'pollBy'> | undefined;
  private sessions: readonly SessionRef[] = [];

  connect(follower: Pick<Follower, 'pollBy'>, sessions: readonly SessionRef[]): void {
    this.follower = follower;
    this.sessions = sessions;
  }

  /** @returns the address to deliver to. @throws LocalError if the port cannot be used */
  async listen({ port, path }: WebhookInput): Promise<string> {
    this.receiver = await startReceiver({
      port,
      path,
      onDelivery: async ({ body }) => {
        for (const session of sessionsToPoll(this.sessions, body.toString())) this.follower?.pollBy(0, session);
        return { status: 204 };
      },
    });
    return this.receiver.url;
  }

  async close(): Promise<void> {
    await this.receiver?.close();
  }
}

/** Starts to receive webhooks, and says where. @throws LocalError if the port cannot be used */
export async function startWebhookPolls(
  context: Pick<Context, 'notice'>,
  input: WebhookInput | undefined,
): Promise<WebhookPolls | undefined> {
  if (!input) return undefined;
  const polls = new WebhookPolls();
  const url = await polls.listen(input);
  await context.notice(`Webhooks are received at ${url}`);
  return polls;
}
