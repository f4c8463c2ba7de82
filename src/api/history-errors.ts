import { ShapeError } from '../errors.ts';

/** The error for a history that ignores the message to read after, and in which that message is not found. */
export function createNoCursorError(): ShapeError {
  return new ShapeError('The history ignores the message to read after, and does not have that message.', {
    why: 'readHistory responded with the same messages, whichever message it was to read after.',
    hint: [
      'Check the id of the message. If it is right, say how it is named, such as:',
      'partnerctl contract set messages.history.after_message_id query:after',
      'or how pages are requested, such as: partnerctl contract set messages.history.next token:next_cursor:cursor',
    ].join('\n'),
    details: { operation: 'readHistory', leaf: 'messages.history.after_message_id' },
  });
}
