import { type ContractKey, readContract } from '../config/contract-file.ts';
import { proxyFor } from '../config/proxy.ts';
import { readWebhookSecrets } from '../config/webhook-secret.ts';
import { Contract } from '../contract/contract.ts';
import { InterruptedError, isCtrlC, NoReplyError, UsageError } from '../errors.ts';
import type { Environment } from '../platform/io.ts';
import { createIntake, type HandledDelivery, type IntakeContext } from './intake.ts';
import { type Payload, readPayload } from './payload.ts';
import { startReceiver } from './receiver.ts';
import { createDirectory } from './saved-delivery.ts';
import { idHeaderOf, parseScheme, type SchemeOptions } from './scheme.ts';
import { openTarget, parseTarget } from './target.ts';
import { createVerifier, type Verifier } from './verify.ts';

/** What listening needs of a command. `abortSignal`: Ctrl-C or --timeout. */
export interface ListenContext extends IntakeContext {
  readonly env: Environment;
  readonly config: { readonly directory: string };
  baseUrl(): Promise<string | undefined>;
  contractKey(): Promise<ContractKey>;
  addSecret(text: string): void;
}

/** The options of `webhook listen` as typed. */
interface TypedListen extends SchemeOptions {
  /** 0 for a free one. */
  readonly port?: number | undefined;
  /** A random one by default. */
  readonly path?: string | undefined;
  readonly forwardTo?: string | undefined;
  /** Where to save deliveries. */
  readonly save?: string | undefined;
  /** How many deliveries to accept; undefined for any number. */
  readonly exitAfter?: number | undefined;
}

export type ListenOptions = ReturnType<typeof parseListen>;

export type ListenEvent =
  /** The address to configure at the sender. */
  | { readonly kind: 'listening'; readonly url: string }
  | ({ readonly kind: 'delivery'; readonly payload: Payload } & HandledDelivery);

/** Reads the options of `webhook listen`. @throws UsageError if they are invalid or contradict each other */
export function parseListen({ port = 0, path, forwardTo, save, exitAfter, ...options }: TypedListen) {
  if (path !== undefined && !/^\/[\w.~!$&'()*+,;=:@%/-]*$/.test(path)) {
    throw new UsageError(`--path must begin with a slash, without a query: ${JSON.stringify(path)}.`);
  }
  const target = forwardTo === undefined ? undefined : parseTarget(forwardTo);
  const { secretFile } = options;
  return { port, path, target, directory: save, exitAfter, secretFile, scheme: parseScheme(options) };
}

/** @throws UsageError if the scheme needs a secret and none is given, or it does not fit the scheme */
async function openVerifier(context: ListenContext, { scheme, secretFile }: ListenOptions): Promise<Verifier> {
  const { env, abortSignal, addSecret } = context;
  if (!scheme) return createVerifier(scheme, []);
  const found = await readWebhookSecrets(secretFile, env, abortSignal);
  const hint = 'Set PARTNER_WEBHOOK_SECRET, or give --secret-file <path>.';
  if (!found) throw new UsageError('--verify needs the secret of the webhook.', { hint });
  for (const secret of found.secrets) addSecret(secret);
  return createVerifier(scheme, found.secrets);
}

/** Reads the contract of the configured service, or the defaults. */
async function contractOf({ config, baseUrl, contractKey }: ListenContext): Promise<Contract> {
  if ((await baseUrl()) === undefined) return new Contract();
  return new Contract(await readContract(config.directory, await contractKey()));
}

/** @throws if fewer deliveries than `exitAfter` were accepted, or a signal other than Ctrl-C ended the listening */
function checkEnd({ reason }: AbortSignal, accepted: number, exitAfter = 0): void {
  const isMissing = accepted < exitAfter;
  if (reason instanceof InterruptedError && (isMissing || !isCtrlC(reason))) throw reason;
  if (!isMissing) return;
  throw new NoReplyError(`${accepted} of ${exitAfter} deliveries came within --timeout.`, { details: { accepted } });
}

/**
 * Receives webhooks. Yields where it listens, then each delivery; ends on the signal, and after `exitAfter` deliveries.
 * @throws UsageError for a secret that is missing or does not fit the scheme; LocalError for a port or a directory that
 *   cannot be used; NoReplyError if too few deliveries came in time; InterruptedError
 */
export async function* listen(
  context: ListenContext,
  listening: ListenOptions,
): AsyncGenerator<ListenEvent, void, void> {
  const { env, abortSignal, addSecret } = context;
  const { port, path, directory, target: url, scheme, exitAfter } = listening;
  // Deliveries that carry the token are shown and forwarded without it.
  if (env.PARTNER_TOKEN) addSecret(env.PARTNER_TOKEN);
  const verifier = await openVerifier(context, listening);
  const contract = await contractOf(context);
  if (directory !== undefined) await createDirectory(directory);
  const target = url && (await openTarget(url, proxyFor(url.href, env)));
  const handled = new TransformStream<HandledDelivery, HandledDelivery>();
  const writer = handled.writable.getWriter();
  // The consumer has stopped reading.
  const ignore = (): void => undefined;
  const full = new AbortController();
  let accepted = 0;
  const onDelivery = (delivery: HandledDelivery): void => {
    writer.write(delivery).catch(ignore);
    if (delivery.status < 300) accepted += 1;
    if (exitAfter !== undefined && accepted >= exitAfter) full.abort();
  };
  const options = { verifier, idHeader: idHeaderOf(scheme), directory, target, onDelivery };
  const receiver = await startReceiver({ port, path, onDelivery: createIntake(context, options) });
  const end = async (): Promise<void> => {
    await receiver.close();
    await writer.close().catch(ignore);
  };
  const signal = AbortSignal.any([abortSignal, full.signal]);
  if (signal.aborted) void end();
  signal.addEventListener('abort', end, { once: true });
  try {
    yield { kind: 'listening', url: receiver.url };
    for await (const each of handled.readable) {
      yield { kind: 'delivery', ...each, payload: readPayload(each.delivery.body, contract) };
    }
    checkEnd(abortSignal, accepted, exitAfter);
  } finally {
    await target?.close();
    await receiver.close();
  }
}
