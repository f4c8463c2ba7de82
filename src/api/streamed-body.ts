/** A streamed request body of known length. Each attempt generates its bytes again, so they are never buffered. */
export interface StreamedBody {
  readonly contentType: string;
  /** The total length of the chunks. */
  readonly bytes: number;
  /** The number of bytes at the end that only close the form. */
  readonly closingBytes: number;
  /** @param attemptEnded aborts once the attempt is over @throws errors of the body's source, which end the call */
  chunks(attemptEnded: AbortSignal): AsyncIterable<Uint8Array>;
}

/** One attempt to send a body. Until all content goes to the connection, the service cannot have acted on it. */
export class BodyInFlight {
  /** Whether all content may have left this machine. Some services respond before the bytes that close the form. */
  sent: 'part' | 'all' = 'part';
  failure: unknown;
  private readonly body: StreamedBody;
  private readonly onChunk: () => void;
  private readonly ended = new AbortController();

  /** @param onChunk called whenever the connection takes a chunk */
  constructor(body: StreamedBody, onChunk: () => void) {
    this.body = body;
    this.onChunk = onChunk;
  }

  end(): void {
    // Without a reason, each would cost an exception with its stack.
    this.ended.abort('the attempt is over');
  }

  /** Yields the chunks to send. Call it once. @throws any error from the body's source, and keeps it in `failure` */
  async *chunks(): AsyncGenerator<Uint8Array> {
    let sent = 0;
    try {
      for await (const chunk of this.body.chunks(this.ended.signal)) {
        sent += chunk.length;
        if (sent >= this.body.bytes - this.body.closingBytes) this.sent = 'all';
        yield chunk;
        this.onChunk();
      }
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
