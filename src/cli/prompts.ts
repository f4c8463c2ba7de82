import type { Key } from 'node:readline';
import { EXIT, InterruptedError } from '../errors.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import type { ContextParts, Prompts, RuntimeDeps } from './context.ts';

interface PromptStreams {
  readonly input: RuntimeDeps['io']['stdin'];
  readonly output: RuntimeDeps['terminal'];
  readonly signal: AbortSignal;
}

const plain = (text: string): string => text;

/** Replaces the colors of the questions. */
const PLAIN_THEME = {
  prefix: { idle: '?', done: '✔' },
  style: {
    message: plain,
    answer: plain,
    help: plain,
    defaultAnswer: (text: string) => `(${text})`,
    error: (text: string) => `> ${text}`,
  },
};

/** Creates the functions that ask questions. They throw the signal's reason, or InterruptedError on Ctrl-C and Ctrl-D. */
export function createPrompts(
  { io, terminal }: RuntimeDeps,
  { progress, redact }: ContextParts,
  { signal, hasColor }: { readonly signal: AbortSignal; readonly hasColor: boolean },
): Prompts {
  const theme = hasColor ? {} : PLAIN_THEME;
  async function ask<Value>(question: (streams: PromptStreams) => Promise<Value>): Promise<Value> {
    // Reading io.stdin opens it.
    const input = io.stdin;
    const closed = new AbortController();
    // Ctrl-D closes the prompt, which then stays without a result. An answer closes it, too, but is returned first. After
    // Ctrl-Z and fg, readline stays in raw mode, but pauses the input, and does not pause it again when it is closed.
    const check = () => setImmediate(() => (input.isRaw ? input.resume() : closed.abort()));
    const checkKey = (_text: unknown, { ctrl, name }: Key) => void (ctrl && name === 'd' && check());
    input.on('pause', check).on('keypress', checkKey);
    try {
      const either = AbortSignal.any([signal, closed.signal]);
      return await progress.pauseDuring(() => question({ input, output: terminal, signal: either }));
    } catch (error) {
      signal.throwIfAborted();
      throw new InterruptedError('Interrupted.', EXIT.interrupted, { cause: error });
    } finally {
      input.off('pause', check).off('keypress', checkKey);
    }
  }
  return {
    async askSecret(message) {
      const { default: password } = await import('@inquirer/password');
      return ask((streams) => password({ message, mask: true, theme }, streams));
    },
    async askText(question, validate) {
      const { default: input } = await import('@inquirer/input');
      return ask((streams) => input({ message: sanitizeLine(question), validate, theme }, streams));
    },
    async confirm(question) {
      const { default: confirm } = await import('@inquirer/confirm');
      return ask((streams) => confirm({ message: sanitizeLine(question), default: false, theme }, streams));
    },
    async openPrompt(options) {
      const { openPromptLine } = await import('./prompt-line.ts');
      return openPromptLine({ ...options, input: io.stdin, output: terminal, redact });
    },
  };
}
