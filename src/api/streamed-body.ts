/** A body that is made afresh for every attempt and sent as it comes: its length is known, its bytes are not held. */
export interface StreamedBody {
  readonly contentType: string;
  /** Exactly as many as the chunks come to. */
  readonly bytes: number;
  /** How many of them, at the end, only close the form: without them a service has all that matters. */
  readonly closing: number;
  /** @param sending tells how the attempt goes; what the chunks throw ends the call, and is what it throws */
  chunks(sending: Sending): AsyncIterable<Uint8Array>;
}

/** One attempt, as its body sees it. */
export interface Sending {
  /** Aborted once the attempt is over: it was answered early, failed, or was given up. */
  readonly over: AbortSignal;
  /** Milliseconds that it took to get a connection, which is at least one way there and back. */
  readonly connectMs: () => number;
}

/**
 * A body on its way. As long as the last of its bytes has not been handed over the service cannot have all of it, so
 * that nothing can have been done with it.
 */
export class BodyInFlight {
  /** Whether all of it may have left this machine. */
  isWhole = false;
  /** Whether all of it but what closes the form may have. */
  hasContent = false;
  /** What its source failed with. */
  failure: unknown;
  private readonly body: StreamedBody;
  private readonly onChunk: () => void;
  private readonly ended = new AbortController();
  private connectingAt = performance.now();
  private connectedAt: number | undefined;

  /** @param onChunk told whenever the connection takes a part of it */
  constructor(body: StreamedBody, onChunk: () => void) {
    this.body = body;
    this.onChunk = onChunk;
  }

  /** All that takes time on this machine is done: what follows is the network's. */
  connecting(): void {
    this.connectingAt = performance.now();
  }

  /** The connection is there: from now on the request may leave. */
  connected(): void {
    this.connectedAt = performance.now();
  }

  /** Whether any of the request may have left. */
  get hasBegun(): boolean {
    return this.connectedAt !== undefined;
  }

  /** The attempt is over; what still makes the body may stop. */
  end(): void {
    this.ended.abort();
  }

  /** What goes over the connection, for one reader. @throws what the body's own chunks throw, which stays in `failure` */
  async *chunks(): AsyncGenerator<Uint8Array> {
    let sent = 0;
    const connectMs = () => (this.connectedAt ?? performance.now()) - this.connectingAt;
    try {
      for await (const chunk of this.body.chunks({ over: this.ended.signal, connectMs })) {
        sent += chunk.length;
        this.isWhole = sent >= this.body.bytes;
        this.hasContent = sent >= this.body.bytes - this.body.closing;
        yield chunk;
        this.onChunk();
      }
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
