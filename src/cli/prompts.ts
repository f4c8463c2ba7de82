import { EXIT, InterruptedError } from '../errors.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import type { Context } from './context.ts';
import type { ContextParts, RuntimeDeps } from './create-context.ts';

/** Creates the functions that ask questions. They throw the signal's reason, or InterruptedError on Ctrl-C. */
export function createPrompts(
  { io, terminal }: RuntimeDeps,
  { progress, redact }: ContextParts,
  signal: AbortSignal,
): Pick<Context, 'askSecret' | 'askText' | 'confirm' | 'openPrompt'> {
  // Create these for each question, because reading io.stdin opens it.
  const streams = () => ({ input: io.stdin, output: terminal, signal });
  async function ask<Value>(question: () => Promise<Value>): Promise<Value> {
    try {
      return await progress.pauseDuring(question);
    } catch (error) {
      signal.throwIfAborted();
      throw new InterruptedError('Interrupted.', EXIT.interrupted, { cause: error });
    }
  }
  return {
    async askSecret(message) {
      const { default: password } = await import('@inquirer/password');
      return ask(() => password({ message, mask: true }, streams()));
    },
    async askText(question, validate) {
      const { default: input } = await import('@inquirer/input');
      return ask(() => input({ message: sanitizeLine(question), validate }, streams()));
    },
    async confirm(question) {
      const { default: confirm } = await import('@inquirer/confirm');
      return ask(() => confirm({ message: sanitizeLine(question), default: false }, streams()));
    },
    async openPrompt(options) {
      const { openPromptLine } = await import('../output/prompt-line.ts');
      return openPromptLine({ ...options, input: io.stdin, output: terminal, redact });
    },
  };
}
