import { EXIT, InterruptedError, NoReplyError } from '../errors.ts';
import type { Delivery } from './delivery.ts';
import { BUSY, type DeliveryOutcome, Intake, type IntakeDeps, type IntakeOptions } from './intake.ts';
import { startReceiver } from './receiver.ts';
import { createDirectory } from './saved-delivery.ts';

/** A delivery, and what became of it. */
export interface HandledDelivery {
  readonly kind: 'delivery';
  readonly delivery: Delivery;
  readonly outcome: DeliveryOutcome;
}

export type ListenEvent =
  /** The address to configure at the sender. */
  { readonly kind: 'listening'; readonly url: string } | HandledDelivery;

export interface ListenOptions extends IntakeOptions {
  /** 0 for a free one. */
  readonly port: number;
  /** A random one by default. */
  readonly path: string | undefined;
}

export interface ListenDeps extends Omit<IntakeDeps, 'cut' | 'onDelivery'> {
  /** Ends the listening: Ctrl-C or --timeout. */
  readonly signal: AbortSignal;
}

/** How many bytes of deliveries may wait to be printed. Beyond that, senders get a 503 and try again. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** The approximate size of a delivery without its body, in bytes. */
const OVERHEAD_BYTES = 4 * 1024;
/** How long running requests to the target may take after Ctrl-C, in milliseconds. */
const GRACE_MS = 2_000;

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Reports the first request that is not a delivery with each status: a wrong address at the sender repeats itself. */
function reportRefusals(notice: ListenDeps['notice']): (status: number) => void {
  const reported = new Set<number>();
  return (status) => {
    if (reported.has(status)) return;
    reported.add(status);
    void notice(
      `A request was refused because of its path, method, or size (${status}). Further ones are not reported.`,
    );
  };
}

/** @throws if fewer deliveries than `exitAfter` were accepted, or a signal other than Ctrl-C ended the listening */
function checkEnd({ aborted: isAborted, reason }: AbortSignal, count: number, exitAfter = 0): void {
  const isMissing = count < exitAfter;
  const isCtrlC = reason instanceof InterruptedError && reason.exitCode === EXIT.interrupted;
  if (isAborted && reason instanceof InterruptedError && (isMissing || !isCtrlC)) throw reason;
  if (!isMissing) return;
  const wanted = exitAfter === 1 ? '1 delivery' : `${exitAfter} deliveries`;
  throw new NoReplyError(`${count} of ${wanted} came within --timeout.`, {
    hint: 'Allow more time with --timeout.',
    details: { accepted: count },
  });
}

/**
 * Receives webhooks. Yields where it listens, then each delivery; ends on the signal, and after `exitAfter` deliveries.
 * @throws LocalError for a port or a directory that cannot be used; NoReplyError if too few deliveries came in time;
 *   InterruptedError
 */
export async function* listen(deps: ListenDeps, options: ListenOptions): AsyncGenerator<ListenEvent, void, void> {
  const { clock, signal, notice } = deps;
  const { port, path, directory, target, exitAfter } = options;
  if (directory !== undefined) await createDirectory(directory);
  const shown = new TransformStream<HandledDelivery, HandledDelivery>(undefined, {
    highWaterMark: MAX_WAITING_BYTES,
    size: ({ delivery }) => delivery.body.length + OVERHEAD_BYTES,
  });
  const printer = shown.writable.getWriter();
  const isFull = new AbortController();
  const cut = new AbortController();
  const over = new AbortController();
  const onDelivery = (delivery: Delivery, outcome: DeliveryOutcome): void => {
    void printer.write({ kind: 'delivery', delivery, outcome });
  };
  const intake = new Intake({ ...deps, cut: cut.signal, onDelivery }, options);
  const receiver = await startReceiver({
    port,
    path,
    async onDelivery(request) {
      if ((printer.desiredSize ?? 0) <= 0) return BUSY;
      const response = await intake.handle(request);
      if (intake.count === exitAfter) isFull.abort();
      return response;
    },
    onRefused: reportRefusals(notice),
  });
  void aborted(signal)
    .then(() => clock.sleep(GRACE_MS, over.signal))
    .then(
      () => cut.abort(),
      () => undefined,
    );
  void aborted(AbortSignal.any([signal, isFull.signal])).then(async () => {
    await receiver.close();
    await printer.close();
  });
  try {
    yield { kind: 'listening', url: receiver.url };
    yield* shown.readable;
    checkEnd(signal, intake.count, exitAfter);
  } finally {
    over.abort();
    cut.abort();
    await receiver.close();
    await target?.close();
  }
}
