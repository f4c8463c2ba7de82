import type { NewMessage } from '../../../api/calls.ts';
import type { Context } from '../../../cli/context.ts';
import type { TextSource } from '../../../cli/input.ts';
import { sanitizeText } from '../../../output/sanitize.ts';
import { commandFormatter } from './session-flags.ts';

/** Longer texts are not quoted in a command. */
const MAX_QUOTED_LENGTH = 1_000;

/** Whether a text survives being shown in an error and pasted into a shell. */
function isPastable(text: string): boolean {
  return text.length <= MAX_QUOTED_LENGTH && sanitizeText(text) === text && !text.includes('\ufffd');
}

/**
 * The command that sends a message again under its external_message_id, so that it is registered once (spec §4.3).
 * @param source where the text came from; an argument by default
 * @param moreFlags flags of the original command besides those that identify the message
 */
export function resendCommand(
  context: Pick<Context, 'flags'>,
  { source_id, session_id, external_message_id, text }: NewMessage,
  { source, moreFlags = [] }: { readonly source?: TextSource; readonly moreFlags?: readonly string[] } = {},
): string {
  const toCommand = commandFormatter(context);
  const ids = ['--source', source_id, '--session', session_id, '--external-id', external_message_id];
  const args = ['chat', 'send', ...ids, ...moreFlags];
  if (source?.from === 'file') return toCommand([...args, '--text-file', source.path]);
  if (source?.from === 'stdin') return `${toCommand(args, ['-'])}\n(with the same text on standard input)`;
  return isPastable(text) ? toCommand(args, [text]) : `${toCommand(args)} … (with the same text)`;
}
