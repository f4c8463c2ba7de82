import type { NewMessage } from '../api/calls.ts';
import type { TextSource } from '../platform/input.ts';
import type { FormatCommand } from './source.ts';

/** Longer texts are not quoted in a command. */
const MAX_QUOTED_LENGTH = 1_000;

/** Whether a text survives being shown in an error and pasted into a shell: no controls, and nothing invisible. */
function isPastable(text: string): boolean {
  return text.length <= MAX_QUOTED_LENGTH && !/[\p{C}\p{Zl}\p{Zp}\ufffd]/u.test(text.replaceAll(/[\n\t]/g, ''));
}

/**
 * The command that sends a message again under its external_message_id, so that it is registered once (spec §4.3).
 * @param more flags of the original command besides those that identify the message
 */
export function resendCommand(
  toCommand: FormatCommand,
  { source_id, session_id, external_message_id, text }: NewMessage,
  origin: TextSource = { from: 'argument', text },
  more: readonly string[] = [],
): string {
  const ids = ['--source', source_id, '--session', session_id, '--external-id', external_message_id];
  const words = ['chat', 'send', ...ids, ...more];
  if (origin.from === 'file') return toCommand([...words, '--text-file', origin.path]);
  if (origin.from === 'stdin') return `${toCommand(words, ['-'])}\n(with the same text on standard input)`;
  return isPastable(text) ? toCommand(words, [text]) : `${toCommand(words)} … (with the same text)`;
}
