import type { Context } from '../../../cli/context.ts';
import { MAX_TEXT_MIB } from '../../../cli/input.ts';
import { describeFileError, InputError, LocalError, UsageError } from '../../../errors.ts';
import { decodeText, readFileChunks } from '../../../platform/input.ts';
import type { FaultPlan } from '../../../sandbox/faults.ts';
import type { Sandbox, SandboxOptions } from '../../../sandbox/index.ts';
import type { Script } from '../../../sandbox/script.ts';
import type { SandboxOptionValues } from './options.ts';

/** A running sandbox. */
export interface StartedSandbox {
  readonly sandbox: Sandbox;
  /** The secret of its webhook, if the user gave none. Show it. */
  readonly generatedSecret: string | undefined;
}

interface OptionFile<T> {
  /** What the file contains: `script`. */
  readonly content: string;
  readonly hint: string;
  readonly parse: (text: string) => T;
}

/**
 * Reads and parses a file that a flag names.
 * @throws InputError if it cannot be read or is invalid; the signal's reason
 */
async function readOptionFile<T>(path: string, signal: AbortSignal, file: OptionFile<T>): Promise<T> {
  try {
    return file.parse(await decodeText(readFileChunks(path, signal), MAX_TEXT_MIB));
  } catch (error) {
    signal.throwIfAborted();
    throw new InputError(`Cannot use the ${file.content} in ${path}.`, {
      why: describeFileError(error),
      hint: file.hint,
      cause: error,
    });
  }
}

async function readFaults(path: string, signal: AbortSignal): Promise<FaultPlan> {
  const { parseFaultPlan } = await import('../../../sandbox/faults.ts');
  return readOptionFile(path, signal, {
    content: 'faults',
    hint: 'Write a plan such as {"rules":[{"kind":"status","status":503,"times":1}]}; see: partnerctl help sandbox',
    parse: (text) => parseFaultPlan(JSON.parse(text)),
  });
}

async function readScript(path: string, signal: AbortSignal): Promise<Script> {
  const { parseScript } = await import('../../../sandbox/script.ts');
  return readOptionFile(path, signal, {
    content: 'script',
    hint: 'Write a list of rules such as [{"pattern":"hello","replies":[{"text":"Hi!","delay_ms":500}]}]; see: partnerctl help sandbox',
    parse: parseScript,
  });
}

/** @throws UsageError unless the sandbox may deliver to the address */
async function requireWebhookUrl(url: string): Promise<void> {
  const { webhookUrlProblem } = await import('../../../sandbox/webhooks.ts');
  const problem = webhookUrlProblem(url);
  if (problem === undefined) return;
  // The URL may contain a password.
  const bareUrl = URL.canParse(url) ? Object.assign(new URL(url), { username: '', password: '' }).href : url;
  throw new UsageError(`The sandbox cannot deliver to ${bareUrl}.`, {
    why: `The address ${problem}.`,
    hint: 'Receive deliveries on this machine with: partnerctl webhook listen. It can forward them.',
  });
}

/** Reads the secret that the user gave: the first, if there are several. @throws UsageError if it cannot sign */
async function readSecret(secretFile: string | undefined, context: Context): Promise<string | undefined> {
  const { env, io, abortSignal } = context;
  const { readWebhookSecrets } = await import('../../../config/webhook-secret.ts');
  const given = await readWebhookSecrets({ secretFile, env, stdin: () => io.stdin, signal: abortSignal });
  if (!given) return undefined;
  for (const secret of given.secrets) context.addSecret(secret);
  const { isWebhookSecret } = await import('../../../sandbox/webhooks.ts');
  const [secret = ''] = given.secrets;
  if (isWebhookSecret(secret)) return secret;
  throw new UsageError(`The webhook secret from ${given.from} is not a Standard Webhooks secret.`, {
    why: 'The sandbox signs by Standard Webhooks: a secret is whsec_ and 24 to 64 bytes in Base64.',
    hint: 'Use such a secret, or give none to let the sandbox generate one.',
  });
}

/**
 * Starts a sandbox as the options say.
 * @throws UsageError for an invalid webhook, InputError for an invalid file, LocalError if the sandbox cannot start, the
 * reason of the context's signal
 */
export async function startSandbox(options: SandboxOptionValues, context: Context): Promise<StartedSandbox> {
  const { data: dataDir, webhook: url, secretFile, port = 0 } = options;
  const { abortSignal } = context;
  if (secretFile !== undefined && url === undefined) {
    throw new UsageError('--secret-file needs --webhook.', {
      hint: 'Add --webhook http://127.0.0.1:<port>/<path>, or omit --secret-file.',
    });
  }
  if (url !== undefined) await requireWebhookUrl(url);
  const secret = url === undefined ? undefined : await readSecret(secretFile, context);
  const faults = options.faults === undefined ? undefined : await readFaults(options.faults, abortSignal);
  const script = options.script === undefined ? undefined : await readScript(options.script, abortSignal);
  const sandbox = await start({
    port,
    ...(dataDir !== undefined && { dataDir }),
    ...(faults && { faults }),
    ...(script && { script }),
    ...(url !== undefined && { webhook: { url, ...(secret !== undefined && { secret }) } }),
  });
  return { sandbox, generatedSecret: secret === undefined ? sandbox.webhookSecret : undefined };
}

/** @throws LocalError */
async function start(options: SandboxOptions): Promise<Sandbox> {
  const { startSandbox: startService } = await import('../../../sandbox/index.ts');
  try {
    return await startService(options);
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const isPort = cause instanceof Error && 'syscall' in cause && cause.syscall === 'listen';
    throw new LocalError('The sandbox cannot start.', {
      why: describeFileError(error),
      hint: isPort ? 'Give another --port, or none for a free one.' : 'Name another directory with --data.',
      cause: error,
    });
  }
}
