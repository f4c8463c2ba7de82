/** What a person may enter in a conversation: a message, or a word to the tool itself. */
export type Entry =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'help' | 'quit' | 'resend' | 'info' | 'nothing' }
  | { readonly kind: 'session'; readonly session: string | undefined }
  | { readonly kind: 'unknown'; readonly word: string };

export const ENTRY_HELP = [
  '/session [id]  show the session, or go on in another one',
  '/resend        send the last message again; it is registered once',
  '/info          the source, the session and how the line is',
  '/quit          leave (as do Ctrl-D, and Ctrl-C on an empty line)',
  'Alt+Enter begins a new line. A message that begins with / is written with two: //',
].join('\n');

/** Reads an entry. Pure. A message is sent as it was typed; only an entry of nothing but white space is none. */
export function readEntry(text: string): Entry {
  if (text.trim() === '') return { kind: 'nothing' };
  if (text.startsWith('//')) return { kind: 'message', text: text.slice(1) };
  if (!text.startsWith('/')) return { kind: 'message', text };
  const [word = '', ...rest] = text.slice(1).trim().split(/\s+/);
  switch (word) {
    case 'help':
    case 'quit':
    case 'resend':
    case 'info':
      return { kind: word };
    case 'session':
      return { kind: 'session', session: rest[0] };
    default:
      return { kind: 'unknown', word };
  }
}
