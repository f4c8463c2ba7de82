import type { TonedText } from '../../../output/command-result.ts';
import { stringifyJson } from '../../../output/formats/stringify-json.ts';
import { sanitizeLine, sanitizeText } from '../../../output/sanitize.ts';

/** What people see of a message. */
interface ShownMessage {
  readonly role: string;
  readonly isReply: boolean;
  readonly text: string | null;
  readonly created_at: string | null;
  readonly raw: unknown;
}

/** The sanitized text of a message, or its JSON if it has none. */
export function readableText({ text, raw }: Pick<ShownMessage, 'text' | 'raw'>): string {
  return sanitizeText(text ?? stringifyJson(raw));
}

/**
 * Formats a message for people. Indents continuation lines, so that none looks like another message.
 * @param label names the session among several
 */
export function formatMessageLines(
  message: ShownMessage,
  { label, showTimestamp }: { readonly label: string | undefined; readonly showTimestamp: boolean },
): TonedText {
  const timestamp = showTimestamp ? `${sanitizeLine(message.created_at ?? '-')} ` : '';
  const name = label === undefined ? '' : `[${sanitizeLine(label)}] `;
  const tone = message.isReply ? 'good' : message.role === 'user' ? 'dim' : undefined;
  const text = readableText(message).replace(/\n+$/, '').replaceAll('\n', '\n  ');
  return [
    { text: `${timestamp}${name}`, tone: 'dim' },
    { text: sanitizeLine(message.role), tone },
    { text: `: ${text}\n` },
  ];
}
