import { setMaxListeners } from 'node:events';
import type { Context } from '../cli/context.ts';
import { proxyFor } from '../config/proxy.ts';
import type { Contract } from '../contract/contract.ts';
import { EXIT, InterruptedError, LocalError, NoReplyError } from '../errors.ts';
import type { StreamEvent } from '../output/command-result.ts';
import { EventQueue } from './event-queue.ts';
import { toDeliveryEvent } from './format-delivery.ts';
import { Forwarding } from './forwarding.ts';
import { Intake } from './intake.ts';
import { findContract, findSecrets, type ListenInput, RefusedRequests, spoolDirectory } from './listen-setup.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from './receiver.ts';
import { openSpool, type Spool } from './spool.ts';
import { claimSpool } from './spool-claim.ts';
import { Target } from './target.ts';
import { createVerifier, idHeaderOf, type Verifier } from './verify.ts';

/** How many bytes of deliveries may wait to be printed. Beyond that, senders get a 503 and retry. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** The approximate size of a delivery without its body, in bytes. */
const OVERHEAD_BYTES = 4 * 1024;

/** How long running attempts to forward may continue after Ctrl-C, in milliseconds. */
const GRACE_MS = 2_000;

function countDeliveries(count: number): string {
  return count === 1 ? '1 delivery' : `${count} deliveries`;
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A running `webhook listen`. */
class Listener {
  private readonly context: Context;
  private readonly input: ListenInput;
  private readonly contract: Contract;
  private readonly queue = new EventQueue<StreamEvent>();
  /** Aborts when no further attempt to forward may start. */
  private readonly stopping = new AbortController();
  /** Aborts when running attempts must end. */
  private readonly ended = new AbortController();
  private readonly isFull = new AbortController();
  private receiver: Receiver | undefined;
  private intake: Intake | undefined;
  private forwarding: Forwarding | undefined;
  private target: Target | undefined;
  private directory: string | undefined;
  private release: (() => Promise<void>) | undefined;

  constructor(context: Context, input: ListenInput, contract: Contract) {
    this.context = context;
    this.input = input;
    this.contract = contract;
    // Every delivery that waits for its next attempt adds a listener.
    for (const { signal } of [this.stopping, this.ended]) setMaxListeners(0, signal);
  }

  /** Starts to listen. @returns the address @throws LocalError */
  async start(verifier: Verifier): Promise<string> {
    const { port, path } = this.input;
    const refused = new RefusedRequests(this.context.notice);
    let onDelivery: ReceiverOptions['onDelivery'] = async () => ({ status: 503 });
    this.receiver = await startReceiver({
      port,
      path,
      onDelivery: (request) => onDelivery(request),
      onRefused: (status) => refused.add(status),
    });
    try {
      const intake = await this.createIntake(verifier, this.receiver.url);
      onDelivery = (request) => intake.handle(request);
      return this.receiver.url;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** @param first says where it listens */
  async *events(first: StreamEvent): AsyncGenerator<StreamEvent, void, void> {
    const ending = this.waitForEnd();
    try {
      yield first;
      yield* this.queue;
      await ending;
      this.throwFailure();
    } finally {
      await this.close();
    }
  }

  private async createIntake(verifier: Verifier, url: string): Promise<Intake> {
    const { clock, notice, warn, redact } = this.context;
    const { scheme, relaysStatus, exitAfter } = this.input;
    const { spool, keys, pending } = await this.openDirectory(url);
    this.forwarding = spool && this.createForwarding(spool);
    this.intake = new Intake(
      {
        clock,
        verifier,
        mustVerify: scheme.kind !== 'none',
        idHeader: idHeaderOf(scheme),
        spool,
        forwarding: this.forwarding,
        relaysStatus,
        limit: exitAfter ?? Number.POSITIVE_INFINITY,
        isCongested: () => this.queue.bytes > MAX_WAITING_BYTES,
        hasSecret: (text) => redact(text) !== text,
        onDelivery: (delivery, outcome) => {
          const event = toDeliveryEvent(delivery, outcome, this.contract);
          this.queue.push(event, delivery.body.length + OVERHEAD_BYTES);
        },
        onLimit: () => this.isFull.abort(),
        notice,
        warn,
      },
      keys,
    );
    if (pending.length > 0) {
      const next = this.forwarding ? 'Forwarding now.' : 'Add --forward-to to forward them.';
      await notice(`${countDeliveries(pending.length)} of an earlier run still to forward. ${next}`);
    }
    for (const name of pending) void this.forwarding?.add(name);
    return this.intake;
  }

  private async openDirectory(url: string) {
    const { context, input } = this;
    this.directory = await spoolDirectory(context, input);
    if (this.directory === undefined) return { spool: undefined, keys: [], pending: [] };
    this.release = await claimSpool(this.directory, url);
    return openSpool({
      directory: this.directory,
      isForUser: input.directory !== undefined,
      now: context.clock.now(),
    });
  }

  private createForwarding(spool: Spool): Forwarding | undefined {
    const { clock, random, warn, notice, env } = this.context;
    const { target: url, scheme } = this.input;
    if (!url) return undefined;
    const mustVerify = scheme.kind !== 'none';
    this.target = new Target(url, proxyFor(url.href, env), clock);
    const [stopping, ended] = [this.stopping.signal, this.ended.signal];
    return new Forwarding({ spool, target: this.target, clock, random, mustVerify, stopping, ended, warn, notice });
  }

  /** Waits for Ctrl-C, --timeout, or the last requested delivery; then shuts down in order. */
  private async waitForEnd(): Promise<void> {
    const interrupted = aborted(this.context.abortSignal);
    await Promise.race([interrupted, aborted(this.isFull.signal)]);
    const closed = this.receiver?.close();
    const idle = async (): Promise<void> => {
      await closed;
      await this.forwarding?.whenIdle();
      await this.intake?.whenIdle();
    };
    await Promise.race([interrupted, idle()]);
    this.stopping.abort();
    const finished = new AbortController();
    const grace = this.context.clock.sleep(GRACE_MS, finished.signal).catch(() => undefined);
    await Promise.race([grace, idle()]);
    finished.abort();
    this.ended.abort();
    await idle();
    this.queue.close();
  }

  /** @throws if deliveries are pending or missing */
  private throwFailure(): void {
    const { signals } = this.context;
    const { exitAfter } = this.input;
    const pending = this.forwarding?.pending ?? 0;
    const count = this.intake?.count ?? 0;
    const unforwarded = `${countDeliveries(pending)} ${pending === 1 ? 'is' : 'are'} not forwarded yet`;
    const hint = pending === 0 ? undefined : `Kept in ${this.directory}. Run the same command again to forward them.`;
    const isMissing = exitAfter !== undefined && count < exitAfter;
    const details = { pending, accepted: count };
    if (signals.interrupt.aborted) {
      const { reason } = signals.interrupt;
      const code = reason instanceof InterruptedError ? reason.exitCode : EXIT.interrupted;
      if (code === EXIT.interrupted && pending === 0 && !isMissing) return;
      throw new InterruptedError(pending === 0 ? 'Interrupted.' : `Interrupted: ${unforwarded}.`, code, {
        hint,
        details,
      });
    }
    if (isMissing) {
      const message = `${count} of ${countDeliveries(exitAfter)} came within --timeout.`;
      throw new NoReplyError(message, { hint: hint ?? 'Allow more time with --timeout.', details });
    }
    if (pending > 0) throw new LocalError(`The time limit (--timeout) was reached: ${unforwarded}.`, { hint, details });
  }

  private async close(): Promise<void> {
    this.stopping.abort();
    this.ended.abort();
    await this.receiver?.close();
    await this.forwarding?.whenIdle();
    await this.target?.close();
    await this.release?.();
  }
}

/**
 * Starts to listen for webhooks.
 * @returns the events: first where it listens, then the deliveries. They end on Ctrl-C, at --timeout, and after the last
 *   requested delivery, and then throw a PartnerctlError if deliveries are pending or missing
 * @throws UsageError for an unusable secret; LocalError for a port or a directory that cannot be used
 */
export async function listenForWebhooks(
  context: Context,
  input: ListenInput,
): Promise<AsyncGenerator<StreamEvent, void, void>> {
  const secrets = await findSecrets(context, input);
  const verifier = await createVerifier(input.scheme, secrets);
  const listener = new Listener(context, input, await findContract(context));
  const url = await listener.start(verifier);
  await context.notice('Listening for webhooks. Stop with Ctrl-C.');
  const shown = input.printsSecret ? secrets : [];
  return listener.events({
    json: { url, ...(input.printsSecret && { webhook_secret: shown[0] }) },
    text: [url, ...shown].join('\n'),
  });
}
