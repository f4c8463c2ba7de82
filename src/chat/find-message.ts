import { HistoryReader } from '../api/history.ts';
import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { startStopwatch } from '../clock.ts';
import { InterruptedError, PartnerctlError } from '../errors.ts';
import type { SessionRef } from '../state-old/session-ref.ts';

/** How long to look for a new message, and how long to wait before the second look. Each wait is twice as long. */
const LOOK_UP_MS = 10_000;
const FIRST_WAIT_MS = 250;

/**
 * Looks for a registered message in the history of its session by its external id. Its text would not do: an earlier
 * message may have the same.
 * @returns its message_id; undefined if the history cannot be read, or does not have it within some seconds
 */
export async function findMessageId(
  { clock, abortSignal, progress }: Pick<Context, 'clock' | 'abortSignal' | 'progress'>,
  http: Http,
  { source_id, session_id, external_message_id }: SessionRef & { readonly external_message_id: string },
): Promise<string | undefined> {
  const reader = new HistoryReader(http);
  const position = { source_id, session_id, after_message_id: undefined };
  const elapsed = startStopwatch(clock);
  try {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs *= 2) {
      const ids: (string | null)[] = [];
      for await (const { messages } of reader.readAfter(position, { now: () => clock.now(), limits: () => ({}) })) {
        const own = messages.find((message) => message.external_message_id === external_message_id);
        if (own) return own.message_id;
        ids.push(...messages.filter(({ isReply }) => !isReply).map((message) => message.external_message_id));
      }
      // A service that lists messages without external ids never lists this one with its own.
      const isWithoutIds = ids.length > 0 && ids.every((id) => id === null);
      if (isWithoutIds || elapsed() + waitMs > LOOK_UP_MS) return undefined;
      progress.countdown(waitMs, (left) => `reading the history again in ${left}`);
      await clock.sleep(waitMs, abortSignal);
    }
  } catch (error) {
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
    return undefined;
  }
}
