import { hash } from 'node:crypto';
import { once } from 'node:events';
import { type ContractContext, contractKey, readContract } from '../config/contract-file.ts';
import { resolveBaseUrl } from '../config/settings.ts';
import { readWebhookSecrets } from '../config/webhook-secret.ts';
import { Contract } from '../contract/contract.ts';
import { InterruptedError, isCtrlC, NoReplyError, UsageError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { emitted } from '../platform/emitted.ts';
import { errorMessage } from '../platform/error-code.ts';
import { type Delivery, headerValue, type SentWebhook } from './delivery.ts';
import { type Payload, readPayload } from './payload.ts';
import { startReceiver } from './receiver.ts';
import { createDirectory, saveDelivery } from './saved-delivery.ts';
import { openTarget, parseTarget, type Target } from './target.ts';
import { createVerifier, parseScheme, type SchemeOptions, type Verifier } from './verify.ts';

/** What listening needs of a command. `abortSignal`: Ctrl-C or --timeout. */
export interface ListenContext extends ContractContext {
  readonly clock: Clock;
  readonly abortSignal: AbortSignal;
  /** What all output must not show. */
  readonly redactor: { add(secret: string): void; redact(text: string): string };
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
  /** The status that the sender gets. */
  readonly status: number;
  /** What became of it at the target; undefined if it was not forwarded. */
  readonly forwarding?: Awaited<ReturnType<Target['send']>> | undefined;
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
  const scheme = parseScheme(options);
  return { port, path, target, directory: save, exitAfter, secretFile: options.secretFile, scheme };
}

/** @throws UsageError if the scheme needs a secret and none is given, or it does not fit the scheme */
async function openVerifier(context: ListenContext, { scheme, secretFile }: ListenOptions): Promise<Verifier> {
  if (!scheme) return createVerifier(scheme, []);
  const secrets = await readWebhookSecrets(secretFile, context.env, context.abortSignal);
  const hint = 'Set PARTNER_WEBHOOK_SECRET, or give --secret-file <path>.';
  if (!secrets) throw new UsageError('--verify needs the secret of the webhook.', { hint });
  secrets.forEach(context.redactor.add);
  return createVerifier(scheme, secrets);
}

/** @throws if fewer deliveries than `exitAfter` were accepted, or a signal other than Ctrl-C ended the listening */
function checkEnd({ reason }: AbortSignal, accepted: number, exitAfter = 0): void {
  const isMissing = accepted < exitAfter;
  if (reason instanceof InterruptedError && (isMissing || !isCtrlC(reason))) throw reason;
  const message = `${accepted} of ${exitAfter} deliveries came within --timeout.`;
  if (isMissing) throw new NoReplyError(message, { details: { accepted } });
}

/** Returns the id that a sender gave a delivery, if the signature covers one; undefined without it. */
function ownIdOf({ headers }: SentWebhook, { signedContent } = { signedContent: '{id}' }): string | undefined {
  const [placeholder, header = 'webhook-id'] = /\{id(?::([^{}]+))?\}/.exec(signedContent) ?? [];
  return placeholder && headerValue(headers, header);
}

interface KnownDelivery {
  /** The file of the first attempt that was saved. */
  saved: string | null;
  /** The answer to its sender; undefined once it was not accepted. */
  answer?: Promise<number> | undefined;
}

/**
 * Creates the function that handles each request: it verifies a delivery, drops repeats, takes it, and returns the
 * status for the sender, whose repeats are the queue: what was not accepted comes again.
 * @param show called for each delivery, but not for repeats of an accepted one; resolves with whether it is shown
 */
function createHandler(
  context: ListenContext,
  { scheme, directory }: ListenOptions,
  { verifier, target }: { readonly verifier: Verifier; readonly target: Target | undefined },
  show: (handled: HandledDelivery) => Promise<boolean>,
): (sent: SentWebhook) => Promise<number> {
  const { clock, abortSignal, redactor, notice, warn } = context;
  /** The deliveries in progress, those accepted, and those whose senders will repeat them, by id. */
  const known = new Map<string, KnownDelivery>();

  /** Saves a delivery, unless an earlier attempt was, forwards it once, and shows it. @returns the status for the sender */
  async function take(delivery: Delivery, entry: KnownDelivery): Promise<number> {
    try {
      if (directory !== undefined) entry.saved ??= await saveDelivery(directory, delivery);
      const forwarding = await target?.send(delivery, abortSignal);
      if (forwarding?.isAccepted === false) {
        await warn(`Delivery ${delivery.delivery_id} was not forwarded: ${forwarding.outcome}. The sender repeats it.`);
      }
      const status = forwarding ? (forwarding.status ?? 502) : 200;
      return (await show({ delivery, status, forwarding, saved: entry.saved })) ? status : 503;
    } catch (error) {
      await warn(`Delivery ${delivery.delivery_id} was not taken; the sender gets a 500: ${errorMessage(error)}`);
      return 500;
    }
  }

  return async function handle(sent) {
    const now = clock.now();
    const verdict = verifier(sent, now);
    const ownId = ownIdOf(sent, scheme);
    const delivery_id = ownId ?? `sha256:${hash('sha256', sent.body, 'hex')}`;
    const headers = sent.headers.filter(([, value]) => redactor.redact(value) === value);
    const delivery = { delivery_id, received_at: new Date(now).toISOString(), ...verdict, headers, body: sent.body };
    if (verdict.verification === 'failed' || verdict.verification === 'unsigned') {
      await show({ delivery, status: 401, saved: null });
      return 401;
    }
    const entry: KnownDelivery = known.get(delivery_id) ?? { saved: null };
    if (entry.answer) {
      await notice(`Dropped a repeat of delivery ${delivery_id}.`);
      return await entry.answer;
    }
    entry.answer = take(delivery, entry);
    known.set(delivery_id, entry);
    const [oldest] = known.keys();
    if (known.size > MAX_REMEMBERED && oldest !== undefined) known.delete(oldest);
    const status = await entry.answer;
    if (status >= 300) entry.answer = undefined;
    // Without an id, an equal body that follows may be another delivery.
    else if (ownId === undefined) known.delete(delivery_id);
    return status;
  };
}

/**
 * Receives webhooks. Yields where it listens, then each delivery, whose sender gets a 2xx once the next event is asked
 * for; ends on the signal, and after `exitAfter` deliveries.
 * @throws UsageError for a secret that is missing or does not fit the scheme; LocalError for a port or a directory that
 *   cannot be used; NoReplyError if too few deliveries came in time; InterruptedError
 */
export async function* listen(
  context: ListenContext,
  listening: ListenOptions,
): AsyncGenerator<ListenEvent, void, void> {
  const { port, path, directory, target: url, exitAfter = Number.POSITIVE_INFINITY } = listening;
  const verifier = await openVerifier(context, listening);
  const hasService = resolveBaseUrl(context) !== undefined;
  const contract = new Contract(hasService ? await readContract(context, contractKey(context)) : undefined);
  if (directory !== undefined) await createDirectory(directory);
  const target = url && (await openTarget(url, context.env));
  let hasReader = true;
  const full = new AbortController();
  const signal = AbortSignal.any([context.abortSignal, full.signal]);
  const receiveAll = async (emit: (event: ListenEvent) => Promise<void>): Promise<void> => {
    let accepted = 0;
    const onDelivery = createHandler(context, listening, { verifier, target }, async (handled) => {
      const payload = readPayload(handled.delivery.body, contract);
      await emit({ kind: 'delivery', ...handled, payload });
      if (hasReader && handled.status < 300) accepted += 1;
      if (accepted >= exitAfter) full.abort();
      return hasReader;
    });
    const receiver = await startReceiver({ port, path, onDelivery });
    void emit({ kind: 'listening', url: receiver.url });
    if (!signal.aborted) await once(signal, 'abort');
    await receiver.close();
    checkEnd(context.abortSignal, accepted, listening.exitAfter);
  };
  yield* emitted(receiveAll, () => {
    hasReader = false;
    full.abort();
    return target?.close();
  });
}
