/** What a person enters at the prompt: a message, or a command that starts with a slash. */
export type Input =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'help' | 'quit' | 'resend' | 'info' | 'empty' }
  | { readonly kind: 'session'; readonly session: string | undefined }
  | { readonly kind: 'unknown'; readonly name: string };

/** Parses an entry of the prompt. A message keeps its white space; white space alone is `empty`. */
export function parseInput(text: string): Input {
  if (text.trim() === '') return { kind: 'empty' };
  if (text.startsWith('//')) return { kind: 'message', text: text.slice(1) };
  if (!text.startsWith('/')) return { kind: 'message', text };
  const [name = '', ...args] = text.slice(1).trim().split(/\s+/);
  switch (name) {
    case 'help':
    case 'quit':
    case 'resend':
    case 'info':
      return { kind: name };
    case 'session':
      return { kind: 'session', session: args[0] };
    default:
      return { kind: 'unknown', name };
  }
}
