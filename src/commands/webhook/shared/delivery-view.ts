import type { StreamEvent } from '../../../output/command-result.ts';
import { stringifyJson } from '../../../output/json.ts';
import { redactHeaders } from '../../../output/redact.ts';
import { sanitizeLine, sanitizeText } from '../../../output/sanitize.ts';
import type { HandledDelivery, ListenEvent } from '../../../webhook/listen.ts';
import { type ColorOf, formatMessageLines, hangingText } from '../../chat/shared/messages.ts';

const TONES = { verified: 'good', failed: 'bad', unsigned: 'bad', 'not-checked': 'warn' } as const;

function describeOutcome({ delivery: { verification, reason }, forwarding }: HandledDelivery): string {
  const verdict = reason === null ? verification : `${verification} (${reason})`;
  if (!forwarding) return sanitizeLine(verdict);
  const status = forwarding.status === null ? '' : ` (${forwarding.status})`;
  return sanitizeLine(`${verdict}, ${forwarding.isAccepted ? 'forwarded' : 'not forwarded'}${status}`);
}

const NO_MESSAGE = { message_id: null, session_id: null, source_id: null, role: null, text: null, created_at: null };

/** Converts an event to what `webhook listen` writes about it. */
export function toStreamEvent(event: ListenEvent, colorOf: ColorOf): StreamEvent {
  if (event.kind === 'listening') return { json: { url: event.url }, text: event.url };
  const { delivery, payload, forwarding, saved } = event;
  const { delivery_id, received_at, verification, reason } = delivery;
  const { body, message } = payload;
  const { message_id, session_id, source_id, role, text, created_at } = message ?? NO_MESSAGE;
  const shown = typeof body === 'string' ? body : stringifyJson(body);
  const headers = Object.fromEntries(delivery.headers.map(([name, value]) => [name.toLowerCase(), value]));
  return {
    json: {
      ...{ delivery_id, received_at, verification, reason },
      ...{ forwarded: forwarding?.isAccepted ?? null, forward_status: forwarding?.status ?? null },
      ...{ message_id, session_id, source_id, role, text, created_at },
      ...{ saved, headers: redactHeaders(headers), body },
    },
    cells: [received_at, verification, delivery_id, session_id, message_id, role, text ?? shown],
    text: [
      { text: describeOutcome(event), tone: TONES[verification] },
      { text: ' ' },
      ...(message
        ? formatMessageLines(message, { label: session_id ?? undefined, colorOf, showTimestamp: false })
        : [{ text: `${sanitizeLine(delivery_id)}: ${hangingText(sanitizeText(shown))}\n` }]),
    ],
  };
}
