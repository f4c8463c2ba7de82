import type { GlobalFlags } from '../config/settings.ts';
import { cleanText } from '../output/sanitise.ts';

/** A text that is longer is not quoted in a command line that a person is to repeat. */
const LONGEST_QUOTED = 1_000;

/** A word as a POSIX shell has to be given it. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function given(flags: readonly (readonly [string, string | undefined])[]): string[] {
  return flags.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
}

/**
 * A command line that reaches the same service in the same way, ready to be pasted into a shell.
 * @param operands what comes last; they may look like flags
 */
export function commandLine(
  words: readonly string[],
  { profile, baseUrl, tokenFile, state }: GlobalFlags,
  operands: readonly string[] = [],
): string {
  const globals = given([
    ['--profile', profile],
    ['--base-url', baseUrl],
    ['--token-file', tokenFile],
    ['--state', state],
  ]);
  const parted = operands.some((operand) => /^-./.test(operand)) ? ['--', ...operands] : operands;
  return ['partnerctl', ...words, ...globals, ...parted].map(shellWord).join(' ');
}

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
  if (isPastable(text)) return commandLine(words, flags, [text]);
  return `${commandLine(words, flags)} … (with the same text)`;
}

/** Whether a text survives being shown in an error and pasted into a shell. */
function isPastable(text: string): boolean {
  return text.length <= LONGEST_QUOTED && cleanText(text) === text && !text.includes('\ufffd');
}

/** The command that waits on for the reply to a message. */
export function waitOnLine(sourceId: string, sessionId: string, messageId: string, flags: GlobalFlags): string {
  const words = ['chat', 'tail', '--source', sourceId, '--session', sessionId, '--after', messageId, '--until-reply'];
  return commandLine(words, flags);
}
