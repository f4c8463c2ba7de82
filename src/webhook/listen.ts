import { hash } from 'node:crypto';
import { once } from 'node:events';
import { type ContractContext, readContract } from '../config/contract-file.ts';
import { readWebhookSecrets } from '../config/webhook-secret.ts';
import { Contract } from '../contract/contract.ts';
import { InterruptedError, isCtrlC, NoReplyError, UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { emitted } from '../platform/emitted.ts';
import { errorMessage } from '../platform/error-code.ts';
import type { Environment } from '../platform/io.ts';
import { type Delivery, headerValue, type SentWebhook } from './delivery.ts';
import { type Payload, readPayload } from './payload.ts';
import { startReceiver } from './receiver.ts';
import { createDirectory, saveDelivery } from './saved-delivery.ts';
import { openTarget, parseTarget, type Target } from './target.ts';
import { createVerifier, parseScheme, type SchemeOptions, type Verifier } from './verify.ts';

/** What listening needs of a command. `abortSignal`: Ctrl-C or --timeout. */
export interface ListenContext extends ContractContext {
  readonly clock: Clock;
  readonly env: Environment;
  readonly abortSignal: AbortSignal;
  baseUrl(): Promise<string | undefined>;
  addSecret(text: string): void;
  /** Changes a text that contains a secret of this tool. */
  redact(text: string): string;
  notice(text: string): Promise<void>;
}

interface TypedListen extends SchemeOptions {
  /** 0 for a free one. */
  readonly port?: number | undefined;
  /** A random one by default. */
  readonly path?: string | undefined;
  readonly forwardTo?: string | undefined;
  readonly save?: string | undefined;
  /** How many deliveries to accept; undefined for any number. */
  readonly exitAfter?: number | undefined;
}

export type ListenOptions = ReturnType<typeof parseListen>;

export interface HandledDelivery {
  readonly delivery: Delivery;
  /** The status that the sender got. */
  readonly status: number;
  /** Whether the target accepted it; null if it was not forwarded. */
  readonly forwarded: boolean | null;
  /** The HTTP status of the target's response; null without one. */
  readonly forwardStatus: number | null;
  /** The path of the file with its bytes; null if it is not saved. */
  readonly saved: string | null;
}

export type ListenEvent =
  /** The address to configure at the sender. */
  | { readonly kind: 'listening'; readonly url: string }
  | ({ readonly kind: 'delivery'; readonly payload: Payload } & HandledDelivery);

/** How many deliveries are remembered. Then the oldest is forgotten, and a repeat of it is a delivery. */
const MAX_REMEMBERED = 100_000;

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
  const secrets = await readWebhookSecrets(secretFile, env, abortSignal);
  const hint = 'Set PARTNER_WEBHOOK_SECRET, or give --secret-file <path>.';
  if (!secrets) throw new UsageError('--verify needs the secret of the webhook.', { hint });
  secrets.forEach(addSecret);
  return createVerifier(scheme, secrets);
}

async function contractOf(context: ListenContext): Promise<Contract> {
  if ((await context.baseUrl()) === undefined) return new Contract();
  return new Contract(await readContract(context, await context.contractKey()));
}

/** @throws if fewer deliveries than `exitAfter` were accepted, or a signal other than Ctrl-C ended the listening */
function checkEnd({ reason }: AbortSignal, accepted: number, exitAfter = 0): void {
  const isMissing = accepted < exitAfter;
  if (reason instanceof InterruptedError && (isMissing || !isCtrlC(reason))) throw reason;
  if (!isMissing) return;
  throw new NoReplyError(`${accepted} of ${exitAfter} deliveries came within --timeout.`, { details: { accepted } });
}

/** Returns the id that a delivery shares with its repeats: that of a header, if it is signed, else a hash of the body. */
function deliveryIdOf({ headers, body }: SentWebhook, { signedContent } = { signedContent: '{id}' }): string {
  const [placeholder, header = 'webhook-id'] = /\{id(?::([^{}]+))?\}/.exec(signedContent) ?? [];
  return (placeholder && headerValue(headers, header)) || `sha256:${hash('sha256', body, 'hex')}`;
}

/**
 * Creates the function that handles each request: it verifies a delivery, drops repeats, takes it, and returns the
 * status for the sender, whose repeats are the queue: what was not accepted comes again.
 * @param onDelivery called for each delivery, but not for repeats of an accepted one
 */
function createHandler(
  context: ListenContext,
  { scheme, directory }: ListenOptions,
  { verifier, target }: { readonly verifier: Verifier; readonly target: Target | undefined },
  onDelivery: (handled: HandledDelivery) => void,
): (sent: SentWebhook) => Promise<number> {
  const { clock, abortSignal, redact, notice, warn } = context;
  /** The answers to deliveries that are being handled, or were accepted, by id. */
  const answers = new Map<string, Promise<number>>();
  /** The files of saved deliveries that the target has not accepted yet, by id. */
  const files = new Map<string, string>();

  /** Saves a delivery, unless an earlier attempt was, and forwards it once. @returns the status for the sender */
  async function accept(delivery: Delivery): Promise<number> {
    const { delivery_id } = delivery;
    try {
      let saved = files.get(delivery_id) ?? null;
      if (directory !== undefined) saved ??= await saveDelivery(directory, delivery);
      if (saved !== null) files.set(delivery_id, saved);
      const sent = await target?.send(delivery, abortSignal);
      const status = sent ? (sent.status ?? 502) : 200;
      if (sent?.isAccepted === false) {
        await warn(`Delivery ${delivery_id} was not forwarded: ${sent.outcome}. The sender repeats it.`);
      }
      onDelivery({ delivery, forwarded: sent?.isAccepted ?? null, forwardStatus: sent?.status ?? null, status, saved });
      if (status < 300) files.delete(delivery_id);
      return status;
    } catch (error) {
      const why = errorMessage(error);
      await warn(`Delivery ${delivery_id} could not be taken, so the sender got a 500: ${why}`);
      return 500;
    }
  }

  return async function handle(sent) {
    const now = clock.now();
    const verdict = verifier(sent, now);
    const delivery_id = deliveryIdOf(sent, scheme);
    const headers = sent.headers.filter(([, value]) => redact(value) === value);
    const received_at = new Date(now).toISOString();
    const delivery = { delivery_id, received_at, ...verdict, headers, body: sent.body };
    if (verdict.verification === 'failed' || verdict.verification === 'unsigned') {
      onDelivery({ delivery, status: 401, forwarded: null, forwardStatus: null, saved: null });
      return 401;
    }
    const earlier = answers.get(delivery_id);
    if (earlier) {
      await notice(`Dropped a repeat of delivery ${delivery_id}.`);
      return await earlier;
    }
    const answer = accept(delivery);
    answers.set(delivery_id, answer);
    const [oldest] = answers.keys();
    if (answers.size > MAX_REMEMBERED && oldest !== undefined) answers.delete(oldest);
    const status = await answer;
    if (status >= 300) answers.delete(delivery_id);
    return status;
  };
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
  const { abortSignal } = context;
  const { port, path, directory, target: url, exitAfter = Number.POSITIVE_INFINITY } = listening;
  const verifier = await openVerifier(context, listening);
  const contract = await contractOf(context);
  if (directory !== undefined) await createDirectory(directory);
  const target = url && (await openTarget(url, context.env));
  const full = new AbortController();
  const signal = AbortSignal.any([abortSignal, full.signal]);
  const receiveAll = async (emit: (event: ListenEvent) => unknown): Promise<void> => {
    let accepted = 0;
    const onDelivery = createHandler(context, listening, { verifier, target }, (handled) => {
      emit({ kind: 'delivery', ...handled, payload: readPayload(handled.delivery.body, contract) });
      if (handled.status < 300) accepted += 1;
      if (accepted >= exitAfter) full.abort();
    });
    const receiver = await startReceiver({ port, path, onDelivery });
    emit({ kind: 'listening', url: receiver.url });
    if (!signal.aborted) await once(signal, 'abort');
    await receiver.close();
    checkEnd(abortSignal, accepted, listening.exitAfter);
  };
  yield* emitted(receiveAll, () => {
    full.abort();
    return target?.close();
  });
}
