import { shellCommand } from '../cli/shell-command.ts';
import type { GlobalFlags } from '../config/flags.ts';
import { sanitizeText } from '../output/sanitize.ts';

/** A text that is longer is not quoted in a command line that a person is to repeat. */
const LONGEST_QUOTED = 1_000;

/** A message under the id that makes a repeat harmless. */
export interface RepeatableMessage {
  readonly source_id: string;
  readonly session_id: string;
  readonly external_message_id: string;
  readonly text: string;
}

/** The command that sends a message again, which the service then takes for the same. @param more further flags */
export function repeatCommand(
  { source_id, session_id, external_message_id, text }: RepeatableMessage,
  flags: GlobalFlags,
  more: readonly string[] = [],
): string {
  const ids = ['--source', source_id, '--session', session_id, '--external-id', external_message_id];
  const words = ['chat', 'send', ...ids, ...more];
  if (isPastable(text)) return shellCommand(words, flags, [text]);
  return `${shellCommand(words, flags)} … (with the same text)`;
}

/** Whether a text survives being shown in an error and pasted into a shell. */
function isPastable(text: string): boolean {
  return text.length <= LONGEST_QUOTED && sanitizeText(text) === text && !text.includes('\ufffd');
}

/** The command that waits on for the reply to a message. */
export function waitOnLine(sourceId: string, sessionId: string, messageId: string, flags: GlobalFlags): string {
  const words = ['chat', 'tail', '--source', sourceId, '--session', sessionId, '--after', messageId, '--until-reply'];
  return shellCommand(words, flags);
}
