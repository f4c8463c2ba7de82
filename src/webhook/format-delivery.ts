import type { Contract } from '../contract/contract.ts';
import type { StreamEvent, TonedText } from '../output/command-result.ts';
import { stringifyJson } from '../output/formats/stringify-json.ts';
import { formatMessageLines } from '../output/message-lines.ts';
import { redactHeaders } from '../output/redact.ts';
import { sanitizeLine, sanitizeText } from '../output/sanitize.ts';
import type { Delivery } from './delivery.ts';
import { type DeliveredMessage, readPayload } from './payload.ts';
import type { Verification } from './verify.ts';

/** What became of a delivery. */
export interface DeliveryOutcome {
  /** Whether the target accepted it; null if it is not forwarded. */
  readonly forwarded: boolean | null;
  /** The HTTP status of the target's response, if it accepted the delivery. */
  readonly forwardStatus: number | null;
  /** The path of the file with its bytes. */
  readonly saved: string | null;
}

const TONES: Readonly<Record<Verification, 'good' | 'bad' | 'warn'>> = {
  verified: 'good',
  failed: 'bad',
  unsigned: 'bad',
  'not-checked': 'warn',
};

/** How many characters of a payload that is not a message people see. JSON output has all of it. */
const MAX_SHOWN = 2_000;

function shorten(text: string): string {
  const more = text.length - MAX_SHOWN;
  return more <= 0 ? text : `${text.slice(0, MAX_SHOWN)}… (${more} more characters; -o json shows them)`;
}

function messageText(message: DeliveredMessage): TonedText {
  return formatMessageLines(message, { label: message.session_id ?? undefined, showTimestamp: false });
}

function describeOutcome({ verification, reason }: Delivery, { forwarded, forwardStatus }: DeliveryOutcome): string {
  const parts = [verification as string];
  if (reason !== null) parts[0] = `${verification} (${reason})`;
  if (forwarded !== null) parts.push(forwarded ? `forwarded (${forwardStatus})` : 'not forwarded yet');
  return sanitizeLine(parts.join(', '));
}

/** Converts a delivery to what `webhook listen` writes about it. */
export function toDeliveryEvent(delivery: Delivery, outcome: DeliveryOutcome, contract: Contract): StreamEvent {
  const { delivery_id, received_at, verification, reason, headers } = delivery;
  const { body, message } = readPayload(delivery.body, contract);
  const shown = typeof body === 'string' ? body : stringifyJson(body);
  const rest = message
    ? messageText(message)
    : `${sanitizeLine(delivery_id)}: ${sanitizeText(shorten(shown)).replaceAll('\n', '\n  ')}\n`;
  const label = { text: describeOutcome(delivery, outcome), tone: TONES[verification] };
  const { message_id = null, session_id = null, source_id = null, role = null, text = null } = message ?? {};
  return {
    json: {
      delivery_id,
      received_at,
      verification,
      reason,
      forwarded: outcome.forwarded,
      forward_status: outcome.forwardStatus,
      message_id,
      session_id,
      source_id,
      role,
      text,
      created_at: message?.created_at ?? null,
      saved: outcome.saved,
      headers: redactHeaders(Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))),
      body,
    },
    cells: [received_at, verification, delivery_id, session_id, message_id, role, text ?? shorten(shown)],
    text: [label, { text: ' ' }, ...(typeof rest === 'string' ? [{ text: rest }] : rest)],
  };
}
