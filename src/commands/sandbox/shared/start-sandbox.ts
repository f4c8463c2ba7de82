import type { Context } from '../../../cli/context.ts';
import { MAX_TEXT_MIB } from '../../../cli/input.ts';
import { readWebhookSecrets } from '../../../config/webhook-secret.ts';
import { describeFileError, InputError, LocalError, UsageError } from '../../../errors.ts';
import { errorMessage } from '../../../platform/error-code.ts';
import { decodeText, readFileChunks } from '../../../platform/input.ts';
import { type FaultPlan, faultPlanSchema } from '../../../sandbox/faults.ts';
import { startSandbox as startService } from '../../../sandbox/index.ts';
import { checkOption } from '../../../sandbox/input.ts';
import { parseScript } from '../../../sandbox/script.ts';
import { webhookSchema } from '../../../sandbox/webhooks.ts';
import type { SandboxOptionValues } from './options.ts';

async function readOptionFile<Content>(
  path: string | undefined,
  content: string,
  parse: (text: string) => Content,
  signal: AbortSignal,
): Promise<Content | undefined> {
  if (path === undefined) return undefined;
  try {
    return parse(await decodeText(readFileChunks(path, signal), MAX_TEXT_MIB));
  } catch (error) {
    signal.throwIfAborted();
    const info = { why: describeFileError(error), hint: 'For examples: partnerctl help sandbox', cause: error };
    throw new InputError(`Cannot use the ${content} in ${path}.`, info);
  }
}

/** Reads and checks the file of --faults. @throws InputError; the signal's reason */
export function readFaults(path: string | undefined, signal: AbortSignal): Promise<FaultPlan | undefined> {
  const parse = (text: string) => checkOption('fault plan', faultPlanSchema, JSON.parse(text));
  return readOptionFile(path, 'faults', parse, signal);
}

async function readWebhook({ webhook: url }: SandboxOptionValues, context: Context) {
  if (url === undefined) return undefined;
  const { env, abortSignal: signal } = context;
  const secrets = await readWebhookSecrets(undefined, env, signal);
  secrets?.forEach(context.redactor.add);
  const secret = secrets?.[0];
  try {
    return checkOption('webhook', webhookSchema, { url, secret });
  } catch (error) {
    throw new UsageError('The sandbox cannot deliver to the webhook.', {
      why: errorMessage(error),
      hint: 'Receive deliveries on this machine with: partnerctl webhook listen. It can forward them. Without a secret, the sandbox makes one.',
      cause: error,
    });
  }
}

/**
 * Starts a sandbox as the options say. It stops when the command ends.
 * @returns the sandbox, and the secret of its webhook to show, if the user gave none
 * @throws UsageError for an invalid webhook, InputError for an invalid file, LocalError if the sandbox cannot start,
 * the reason of the context's signal
 */
export async function startSandbox(options: SandboxOptionValues, context: Context) {
  const { data: dataDir, port } = options;
  const { abortSignal } = context;
  const webhook = await readWebhook(options, context);
  const faults = await readFaults(options.faults, abortSignal);
  const script = await readOptionFile(options.script, 'script', parseScript, abortSignal);
  try {
    const sandbox = await startService({ port, dataDir, faults, script, webhook });
    context.closers.push(() => sandbox.close());
    return { sandbox, generatedSecret: webhook?.secret === undefined ? sandbox.webhookSecret : undefined };
  } catch (error) {
    throw new LocalError('The sandbox cannot start.', {
      why: describeFileError(error),
      hint: 'Give another --port, or another directory with --data.',
      cause: error,
    });
  }
}
