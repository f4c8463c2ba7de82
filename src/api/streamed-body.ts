import { randomBytes } from 'node:crypto';

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

export interface FilePart {
  readonly name: string;
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  content(attemptEnded: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Encodes a name as browsers do: quotes and line breaks are percent-encoded, everything else is UTF-8. */
function encodeName(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

/** Creates a multipart/form-data body (RFC 7578, with names encoded as in the HTML standard) of one file. */
export function formBody(file: FilePart): StreamedBody {
  // Random, so that it does not occur in the content.
  const boundary = `partnerctl-${randomBytes(16).toString('hex')}`;
  const [name, filename] = [encodeName(file.name), encodeName(file.filename)];
  const disposition = `Content-Disposition: form-data; name="${name}"; filename="${filename}"`;
  const head = Buffer.from(`--${boundary}\r\n${disposition}\r\nContent-Type: ${file.contentType}\r\n\r\n`);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: head.length + file.bytes + tail.length,
    closingBytes: tail.length,
    async *chunks(attemptEnded) {
      yield head;
      yield* file.content(attemptEnded);
      if (!attemptEnded.aborted) yield tail;
    },
  };
}
