import type { StreamEvent } from '../../../output/command-result.ts';
import { stringifyJson } from '../../../output/json.ts';
import { redactHeaders } from '../../../output/redact.ts';
import { sanitizeLine, sanitizeText } from '../../../output/sanitize.ts';
import type { HandledDelivery } from '../../../webhook/intake.ts';
import type { ListenEvent } from '../../../webhook/listen.ts';
import type { Verification } from '../../../webhook/verify.ts';
import { formatMessageLines } from '../../chat/shared/messages.ts';

const TONES: Readonly<Record<Verification, 'good' | 'bad' | 'warn'>> = {
  verified: 'good',
  failed: 'bad',
  unsigned: 'bad',
  'not-checked': 'warn',
};

/** Continuation lines are indented, so that none looks like another delivery. */
function indent(text: string): string {
  return text.replace(/\n+$/, '').replaceAll('\n', '\n  ');
}

function describeOutcome({ delivery, forwarded, forwardStatus }: HandledDelivery): string {
  const { verification, reason } = delivery;
  const verdict = reason === null ? verification : `${verification} (${reason})`;
  if (forwarded === null) return sanitizeLine(verdict);
  const forwarding = forwarded ? 'forwarded' : 'not forwarded';
  return sanitizeLine(`${verdict}, ${forwarding}${forwardStatus === null ? '' : ` (${forwardStatus})`}`);
}

/** Converts an event to what `webhook listen` writes about it. */
export function toStreamEvent(event: ListenEvent): StreamEvent {
  if (event.kind === 'listening') return { json: { url: event.url }, text: event.url };
  const { delivery, payload, forwarded, forwardStatus, saved } = event;
  const { delivery_id, received_at, verification, reason, headers } = delivery;
  const { body, message } = payload;
  const shown = typeof body === 'string' ? body : stringifyJson(body);
  const line = `${sanitizeLine(delivery_id)}: ${indent(sanitizeText(shown))}\n`;
  const verdict = { text: describeOutcome(event), tone: TONES[verification] };
  const label = message?.session_id ?? undefined;
  const { message_id = null, session_id = null, source_id = null, role = null, text = null } = message ?? {};
  return {
    json: {
      delivery_id,
      received_at,
      verification,
      reason,
      forwarded,
      forward_status: forwardStatus,
      message_id,
      session_id,
      source_id,
      role,
      text,
      created_at: message?.created_at ?? null,
      saved,
      headers: redactHeaders(Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))),
      body,
    },
    cells: [received_at, verification, delivery_id, session_id, message_id, role, text ?? shown],
    text: [
      verdict,
      { text: ' ' },
      ...(message ? formatMessageLines(message, { label, showTimestamp: false }) : [{ text: line }]),
    ],
  };
}
