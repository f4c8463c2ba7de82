import { EXIT, InterruptedError } from '../errors.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import type { BaseContext, RuntimeDeps } from './context.ts';

/* The questions. They require `isInteractive`. */

const plain = (text: string): string => text;

/** Replaces the colors of the questions. */
const PLAIN_THEME = {
  prefix: { idle: '?', done: '✔' },
  style: { message: plain, answer: plain, help: plain, defaultAnswer: (text: string) => `(${text})`, error: plain },
};

const themeOf = ({ hasColor }: BaseContext) => (hasColor ? {} : PLAIN_THEME);

interface PromptStreams {
  readonly input: RuntimeDeps['io']['stdin'];
  readonly output: RuntimeDeps['terminal'];
  readonly signal: AbortSignal;
}

/** @throws the reason of the context's signal; InterruptedError on Ctrl-C and Ctrl-D */
async function ask<Value>(
  { io, terminal, progress, abortSignal }: BaseContext,
  question: (streams: PromptStreams) => Promise<Value>,
): Promise<Value> {
  const input = io.stdin;
  const closed = new AbortController();
  // Ctrl-D closes the prompt, which then stays without a result. An answer closes it, too, but is returned first.
  const close = () => void setImmediate(() => closed.abort());
  input.on('pause', close);
  try {
    const signal = AbortSignal.any([abortSignal, closed.signal]);
    return await progress.pauseDuring(() => question({ input, output: terminal, signal }));
  } catch (error) {
    abortSignal.throwIfAborted();
    throw new InterruptedError('Interrupted.', EXIT.interrupted, { cause: error });
  } finally {
    input.off('pause', close);
  }
}

/** Asks for a secret and hides the input. */
export async function askSecret(context: BaseContext, message: string): Promise<string> {
  const { default: password } = await import('@inquirer/password');
  return ask(context, (streams) => password({ message, mask: true, theme: themeOf(context) }, streams));
}

/** Asks for a line of text until it is valid. @param validate returns true, or the message for an invalid text */
export async function askText(
  context: BaseContext,
  question: string,
  validate: (text: string) => string | true,
): Promise<string> {
  const { default: input } = await import('@inquirer/input');
  const prompt = { message: sanitizeLine(question), validate, theme: themeOf(context) };
  return ask(context, (streams) => input(prompt, streams));
}

/** Asks a yes/no question; the default is no. */
export async function confirm(context: BaseContext, question: string): Promise<boolean> {
  const { default: confirm } = await import('@inquirer/confirm');
  const prompt = { message: sanitizeLine(question), default: false, theme: themeOf(context) };
  return ask(context, (streams) => confirm(prompt, streams));
}
