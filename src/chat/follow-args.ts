import type { Args, FlagSpec } from '../cli/command.ts';
import { UsageError } from '../errors.ts';
import { parseWebhook, WEBHOOK_FLAGS, type WebhookInput } from './webhook-polls.ts';

/** How `chat tail` and `chat watch` follow sessions, as typed. */
export interface FollowInput {
  readonly follow: boolean;
  /** How long to wait between two polls of a session; undefined: adaptive. */
  readonly intervalMs: number | undefined;
  /** How long the service may be out of reach; undefined: no limit while following. */
  readonly maxOutageMs: number | undefined;
  readonly showTimestamps: boolean;
  readonly webhook: WebhookInput | undefined;
}

const MIN_INTERVAL_MS = 100;

export const FOLLOW_FLAGS: readonly FlagSpec[] = [
  { usage: '--interval <duration>', description: 'poll each session at this fixed interval', defaultText: 'adaptive' },
  ...WEBHOOK_FLAGS,
  { usage: '--timestamps', description: 'show when each message was created' },
  {
    usage: '--max-outage <duration>',
    description:
      'exit 8 when the service is out of reach for this long (default with --no-follow: 30s, or --retries if given)',
  },
];

/** Reads FOLLOW_FLAGS and --no-follow. @throws UsageError if the interval is too short, or the webhook cannot be used */
export function parseFollow(args: Args): FollowInput {
  const intervalMs = args.duration('interval');
  if (intervalMs !== undefined && intervalMs < MIN_INTERVAL_MS) {
    throw new UsageError(`--interval must be ${MIN_INTERVAL_MS}ms or more.`);
  }
  return {
    follow: args.isSet('follow'),
    intervalMs,
    maxOutageMs: args.duration('max-outage'),
    showTimestamps: args.isSet('timestamps'),
    webhook: parseWebhook(args),
  };
}
