import type { NewMessage } from '../api/calls.ts';
import type { ChatDirectory } from './chat-directory.ts';

const NAME = 'sent.log';

/**
 * The messages that a service acknowledged to `send --rows`. It only saves requests: what it lacks is sent again under
 * the same external id, and so registered once.
 */
export type SentLog = ReturnType<typeof openSentLog>;

/** Reads the log of a directory. @throws LocalError if it cannot be read */
export function openSentLog(directory: ChatDirectory) {
  const lines = directory.read(NAME).matchAll(/^([\da-f]{24}) (.+)$/gm);
  const sent = new Map(Array.from(lines, ([, key = '', id = '']) => [key, id]));
  const keyOf = ({ source_id, session_id, external_message_id, text }: NewMessage): string =>
    directory.digest([source_id, session_id, external_message_id, text], 24);
  return {
    /** Returns the message_id of an acknowledged message; undefined for any other. */
    find: (message: NewMessage): string | undefined => sent.get(keyOf(message)),
    async add(message: NewMessage, messageId: string): Promise<void> {
      const key = keyOf(message);
      sent.set(key, messageId);
      // The newline comes first, too, so that a torn line before it does not spoil this one.
      await directory.append(NAME, `\n${key} ${messageId}\n`);
    },
  };
}
