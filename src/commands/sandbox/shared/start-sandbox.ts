import type { Context } from '../../../cli/context.ts';
import { MAX_TEXT_MIB } from '../../../cli/input.ts';
import { readWebhookSecrets } from '../../../config/webhook-secret.ts';
import { describeFileError, InputError, LocalError, UsageError } from '../../../errors.ts';
import { decodeText, readFileChunks } from '../../../platform/input.ts';
import { parseFaultPlan } from '../../../sandbox/faults.ts';
import { type Sandbox, type SandboxOptions, startSandbox as startService } from '../../../sandbox/index.ts';
import { parseScript } from '../../../sandbox/script.ts';
import { isWebhookSecret, webhookUrlProblem } from '../../../sandbox/webhooks.ts';
import type { SandboxOptionValues } from './options.ts';

/** A running sandbox. */
export interface StartedSandbox {
  readonly sandbox: Sandbox;
  /** The secret of its webhook, if the user gave none. Show it. */
  readonly generatedSecret: string | undefined;
}

/**
 * Reads and parses a file that a flag names.
 * @param content what the file contains: `script`
 * @throws InputError if it cannot be read or is invalid; the signal's reason
 */
async function readOptionFile<Content>(
  path: string | undefined,
  [content, hint, parse]: readonly [content: string, hint: string, parse: (text: string) => Content],
  signal: AbortSignal,
): Promise<Content | undefined> {
  if (path === undefined) return undefined;
  try {
    return parse(await decodeText(readFileChunks(path, signal), MAX_TEXT_MIB));
  } catch (error) {
    signal.throwIfAborted();
    throw new InputError(`Cannot use the ${content} in ${path}.`, {
      why: describeFileError(error),
      hint,
      cause: error,
    });
  }
}

const FAULTS = [
  'faults',
  'Write a plan such as {"rules":[{"kind":"status","status":503,"times":1}]}; see: partnerctl help sandbox',
  (text: string) => parseFaultPlan(JSON.parse(text)),
] as const;

const SCRIPT = [
  'script',
  'Write a list of rules such as [{"pattern":"hello","replies":[{"text":"Hi!","delay_ms":500}]}]; see: partnerctl help sandbox',
  parseScript,
] as const;

/** Reads the secret that the user gave: the first, if there are several. @throws UsageError if it cannot sign */
async function readSecret(secretFile: string | undefined, context: Context): Promise<string | undefined> {
  const { env, abortSignal: signal } = context;
  const given = await readWebhookSecrets(secretFile, env, signal);
  if (!given) return undefined;
  given.secrets.forEach(context.addSecret);
  const [secret = ''] = given.secrets;
  if (isWebhookSecret(secret)) return secret;
  throw new UsageError(`The webhook secret from ${given.from} is not a Standard Webhooks secret.`, {
    why: 'The sandbox signs by Standard Webhooks: a secret is whsec_ and 24 to 64 bytes in Base64.',
    hint: 'Use such a secret, or give none to let the sandbox generate one.',
  });
}

/** Checks where to deliver, and with which secret. @throws UsageError */
async function readWebhook({ webhook: url, secretFile }: SandboxOptionValues, context: Context) {
  if (url === undefined) {
    if (secretFile === undefined) return undefined;
    throw new UsageError('--secret-file needs --webhook.', {
      hint: 'Add --webhook http://127.0.0.1:<port>/<path>, or omit --secret-file.',
    });
  }
  const problem = webhookUrlProblem(url);
  if (problem !== undefined) {
    // The URL may contain a password.
    const bareUrl = URL.canParse(url) ? Object.assign(new URL(url), { username: '', password: '' }).href : url;
    throw new UsageError(`The sandbox cannot deliver to ${bareUrl}.`, {
      why: `The address ${problem}.`,
      hint: 'Receive deliveries on this machine with: partnerctl webhook listen. It can forward them.',
    });
  }
  const secret = await readSecret(secretFile, context);
  return secret === undefined ? { url } : { url, secret };
}

/** @throws LocalError */
async function start(options: SandboxOptions): Promise<Sandbox> {
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

/**
 * Starts a sandbox as the options say.
 * @throws UsageError for an invalid webhook, InputError for an invalid file, LocalError if the sandbox cannot start, the
 * reason of the context's signal
 */
export async function startSandbox(options: SandboxOptionValues, context: Context): Promise<StartedSandbox> {
  const { data: dataDir, port = 0 } = options;
  const webhook = await readWebhook(options, context);
  const faults = await readOptionFile(options.faults, FAULTS, context.abortSignal);
  const script = await readOptionFile(options.script, SCRIPT, context.abortSignal);
  const sandbox = await start({
    port,
    ...(dataDir !== undefined && { dataDir }),
    ...(faults && { faults }),
    ...(script && { script }),
    ...(webhook && { webhook }),
  });
  return { sandbox, generatedSecret: webhook?.secret === undefined ? sandbox.webhookSecret : undefined };
}
