import { setImmediate } from 'node:timers/promises';
import { nameProfile } from '../config/profiles.ts';
import { type ActiveProfile, profileInUse, resolveBaseUrl, type SettingsContext } from '../config/settings.ts';
import { EXIT, InterruptedError, UsageError } from '../errors.ts';
import type { Progress } from '../output/progress.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import type { Io } from '../platform/io.ts';
import { shellQuote } from '../platform/text.ts';

/** What a question needs of a command. */
interface PromptContext extends SettingsContext {
  readonly io: Pick<Io, 'stdin' | 'terminal'>;
  readonly progress: Pick<Progress, 'pauseDuring'>;
  readonly abortSignal: AbortSignal;
  readonly prompts: { readonly isAvailable: boolean };
}

const plain = (text: string): string => text;

/** Questions have no colors, whatever --color says. */
const theme = {
  prefix: '?',
  style: { message: plain, answer: plain, help: plain, error: plain, defaultAnswer: (text: string) => `(${text})` },
};

/** @throws the reason of the context's signal; InterruptedError on Ctrl-C and Ctrl-D */
async function ask<Value>(
  { io, progress, abortSignal }: PromptContext,
  question: (streams: { input: Io['stdin']; output: Io['terminal']; signal: AbortSignal }) => Promise<Value>,
): Promise<Value> {
  const input = io.stdin;
  const closed = new AbortController();
  // Ctrl-D closes the prompt, which then stays without a result. An answer closes it, too, but is returned first.
  const close = () => void setImmediate().then(() => closed.abort());
  input.on('pause', close);
  try {
    const signal = AbortSignal.any([abortSignal, closed.signal]);
    return await progress.pauseDuring(() => question({ input, output: io.terminal, signal }));
  } catch (error) {
    abortSignal.throwIfAborted();
    throw new InterruptedError('Interrupted.', EXIT.interrupted, { cause: error });
  } finally {
    input.off('pause', close);
    // The prompt has paused the terminal, which takes effect a tick later: a read that began before would never end.
    await setImmediate();
  }
}

/** Asks for a secret and hides the input. */
export async function askSecret(context: PromptContext, message: string): Promise<string> {
  const { default: password } = await import('@inquirer/password');
  return ask(context, (streams) => password({ message, mask: true, theme }, streams));
}

/** Asks for a line of text until it is valid. @param validate returns true, or the message for an invalid text */
export async function askText(
  context: PromptContext,
  question: string,
  validate: (text: string) => string | true = () => true,
): Promise<string> {
  const { default: input } = await import('@inquirer/input');
  const prompt = { message: sanitizeLine(question), validate, theme };
  return ask(context, (streams) => input(prompt, streams));
}

/** Asks a yes/no question; the default is no. */
export async function confirm(context: PromptContext, question: string): Promise<boolean> {
  const { default: confirm } = await import('@inquirer/confirm');
  const prompt = { message: sanitizeLine(question), default: false, theme };
  return ask(context, (streams) => confirm(prompt, streams));
}

/** As `Context.prompts.confirmWrite`. If service and token come from flags or the environment, no profile is in use. */
export async function confirmWrite(context: PromptContext, confirmed: string | undefined): Promise<void> {
  const profile = profileInUse(context);
  if (!profile) return;
  const service = resolveBaseUrl(context, profile)?.value ?? 'its service';
  await confirmProfile(context, profile, confirmed, `write to ${service}`);
}

/**
 * Asks for the name of a profile if it is protected.
 * @param confirmed the value of --confirm
 * @param act what the command is about to do: `write to https://api.example.com/v1`
 * @throws UsageError if it names another profile, or is missing where the user cannot be asked
 */
export async function confirmProfile(
  context: PromptContext,
  { value: name, from, stored }: ActiveProfile,
  confirmed: string | undefined,
  act: string,
): Promise<void> {
  const info = { why: 'Nothing was sent.', hint: `To confirm this, add --confirm ${shellQuote(name)}` };
  if (confirmed !== undefined && confirmed !== name) {
    const used = `the command uses ${nameProfile(name)} (${from})`;
    throw new UsageError(`--confirm names ${nameProfile(confirmed)}, but ${used}.`, info);
  }
  if (!stored?.protected || confirmed !== undefined) return;
  const reason = `Profile ${JSON.stringify(name)} is protected`;
  if (!context.prompts.isAvailable) throw new UsageError(`${reason}, and this command is about to ${act}.`, info);
  const question = `${reason}. To ${act}, type ${name}:`;
  await askText(context, question, (typed) => (typed === name ? true : `That is not ${name}. Ctrl-C sends nothing.`));
}
