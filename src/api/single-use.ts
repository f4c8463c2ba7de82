import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';

/** How long a connection may stay open without a request. Services close them much later. */
const MAX_IDLE_MS = 500;

/** Gives each request a connection of its own. */
export interface SingleUse {
  /** Returns what sends one request. */
  open(): Dispatcher;
  /** Closes what `open` returned. @param reason the error of a request that is still running */
  end(dispatcher: Dispatcher, reason: Error): Promise<void>;
  close(): Promise<void>;
}

/** Resolves to a connection that carried nothing yet; undefined if it cannot be opened, or was closed since. */
type EarlyConnection = Promise<Socket | undefined>;

function isUnused({ destroyed, writable, readableLength }: Socket): boolean {
  return !destroyed && writable && readableLength === 0;
}

/**
 * Opens the connections of single requests. While several requests run, those for the next ones are opened early: with
 * TLS, that takes longer than many a request.
 */
export class SingleUseConnections implements SingleUse {
  private readonly origin: string;
  private readonly connect: buildConnector.connector;
  private readonly early = new Set<EarlyConnection>();
  private running = 0;
  private hasEnded = false;

  /** @param origin scheme, host, and port */
  constructor(origin: string, connect: buildConnector.connector) {
    this.origin = origin;
    this.connect = connect;
  }

  open(): Dispatcher {
    this.running += 1;
    return new Client(this.origin, { connect: (options, callback) => this.useConnection(options, callback) });
  }

  async end(dispatcher: Dispatcher, reason: Error): Promise<void> {
    this.running -= 1;
    this.hasEnded = true;
    await dispatcher.destroy(reason);
  }

  async close(): Promise<void> {
    for (const early of this.early) void early.then((socket) => socket?.destroy());
  }

  private useConnection(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const [early] = this.early;
    if (early) {
      this.early.delete(early);
      void early.then((socket) => {
        if (socket && isUnused(socket)) callback(null, socket.setTimeout(0));
        else this.connect(options, callback);
      });
    } else this.connect(options, callback);
    // Nobody knows yet whether more requests follow the first ones.
    const wanted = this.hasEnded && this.running > 1 ? this.running : 0;
    while (this.early.size < wanted) this.openEarly(options);
  }

  private openEarly(options: buildConnector.Options): void {
    const early: EarlyConnection = new Promise((resolve) => {
      this.connect(options, (_, socket) => resolve(socket ?? undefined));
    });
    this.early.add(early);
    void early.then((socket) =>
      socket
        ?.setTimeout(MAX_IDLE_MS, () => socket.destroy())
        .on('error', () => undefined)
        .once('close', () => this.early.delete(early)),
    );
  }
}
