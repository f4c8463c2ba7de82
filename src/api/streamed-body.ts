/** A request body that is generated anew for every attempt and streamed: its length is known, its bytes are not kept. */
export interface StreamedBody {
  readonly contentType: string;
  /** The total length of the chunks. */
  readonly bytes: number;
  /** How many bytes at the end only close the form: without them the service already has the whole content. */
  readonly closingBytes: number;
  /**
   * @param attemptEnded aborted once the attempt was answered early, failed, or was given up
   * @throws whatever the body's source throws; it ends the whole call
   */
  chunks(attemptEnded: AbortSignal): AsyncIterable<Uint8Array>;
}

/**
 * One attempt at sending a body. Until the last byte is handed over, the service cannot have the whole body, so it cannot
 * have acted on it.
 */
export class BodyInFlight {
  /** How much of the body may have left this machine; `content` is everything but the bytes that close the form. */
  sent: 'part' | 'content' | 'all' = 'part';
  /** What the body's source threw. */
  failure: unknown;
  private readonly body: StreamedBody;
  private readonly onChunk: () => void;
  private readonly ended = new AbortController();

  /** @param onChunk called whenever the connection takes a chunk */
  constructor(body: StreamedBody, onChunk: () => void) {
    this.body = body;
    this.onChunk = onChunk;
  }

  /** The attempt is over: stops whatever still produces the body. */
  end(): void {
    this.ended.abort();
  }

  /** The chunks to send, for one reader. @throws what the body's own chunks throw, also kept in `failure` */
  async *chunks(): AsyncGenerator<Uint8Array> {
    let sent = 0;
    try {
      for await (const chunk of this.body.chunks(this.ended.signal)) {
        sent += chunk.length;
        if (sent >= this.body.bytes) this.sent = 'all';
        else if (sent >= this.body.bytes - this.body.closingBytes) this.sent = 'content';
        yield chunk;
        this.onChunk();
      }
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
