import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { startStopwatch, systemClock } from '../clock.ts';

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

/** A connection that carried nothing yet. */
interface OpenConnection {
  readonly socket: Socket;
  /** Returns how long it has been open, in milliseconds. */
  readonly age: () => number;
}

/** Resolves to undefined if the connection cannot be opened. */
type EarlyConnection = Promise<OpenConnection | undefined>;

function isUsable({ socket, age }: OpenConnection): boolean {
  const { destroyed, writable, readableLength } = socket;
  // After the process was suspended, the timer that closes it is late, and so is the news that the service closed it.
  return !destroyed && writable && readableLength === 0 && age() <= MAX_IDLE_MS;
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
  /** Whether one could not be used: the service may limit how many are open, and would close those that requests need. */
  private isUnwelcome = false;

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
    for (const early of this.early) void early.then((opened) => opened?.socket.destroy());
    this.early.clear();
  }

  private useConnection(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const [early] = this.early;
    if (early) {
      this.early.delete(early);
      void early.then((opened) => {
        if (opened && isUsable(opened)) {
          callback(null, opened.socket.setTimeout(0));
          return;
        }
        opened?.socket.destroy();
        this.isUnwelcome = true;
        this.connect(options, callback);
      });
    } else this.connect(options, callback);
    // Nobody knows yet whether more requests follow the first ones.
    const wanted = this.hasEnded && !this.isUnwelcome && this.running > 1 ? this.running : 0;
    while (this.early.size < wanted) this.openEarly(options);
  }

  private openEarly(options: buildConnector.Options): void {
    const early: EarlyConnection = new Promise((resolve) => {
      this.connect(options, (_, socket) => resolve(socket ? this.watch(socket, early) : undefined));
    });
    this.early.add(early);
  }

  /** Closes a connection for which no request comes. */
  private watch(socket: Socket, early: EarlyConnection): OpenConnection {
    socket
      .setTimeout(MAX_IDLE_MS, () => {
        this.early.delete(early);
        socket.destroy();
      })
      .on('error', () => undefined)
      .once('close', () => {
        if (this.early.delete(early)) this.isUnwelcome = true;
      });
    return { socket, age: startStopwatch(systemClock) };
  }
}
