/** A complete request as it was received. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** The request line and the header lines. */
  readonly head: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A complete response, with its body decoded from chunks. */
export interface ServiceResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const END_OF_HEAD = '\r\n\r\n';

function readHeaders(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

/** Returns the bytes of a chunked body and how many bytes it took; undefined while it is incomplete. */
function readChunks(bytes: Buffer): { readonly body: Buffer; readonly length: number } | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at);
    if (end === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    const next = end + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks), length: next };
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
    at = next;
  }
}

/** The head of a message, and where its body starts; undefined while it is incomplete. */
export function readHead(bytes: Buffer): (Omit<ReceivedRequest, 'body'> & { readonly bodyAt: number }) | undefined {
  const end = bytes.indexOf(END_OF_HEAD);
  if (end === -1) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const [first = '', ...lines] = head.split('\r\n');
  const [method = '', path = ''] = first.split(' ');
  return { method, path, head, headers: readHeaders(lines), bodyAt: end + END_OF_HEAD.length };
}

/** Reads one request. @returns undefined while it is incomplete; `length` counts its bytes */
export function readRequest(bytes: Buffer): { readonly request: ReceivedRequest; readonly length: number } | undefined {
  const found = readHead(bytes);
  if (!found) return undefined;
  const { bodyAt, ...head } = found;
  if (head.headers['transfer-encoding'] === 'chunked') {
    const chunked = readChunks(bytes.subarray(bodyAt));
    return chunked && { request: { ...head, body: chunked.body }, length: bodyAt + chunked.length };
  }
  const length = bodyAt + Number(head.headers['content-length'] ?? 0);
  if (bytes.length < length) return undefined;
  return { request: { ...head, body: bytes.subarray(bodyAt, length) }, length };
}

/** Writes the head of a response. @param headers as they are to be sent, in order */
export function headOf(status: string | number, headers: Readonly<Record<string, string | number>> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}${typeof status === 'number' ? ' Status' : ''}\r\n${lines.join('')}\r\n`;
}

/** The service's response as bytes, with its length declared. */
export function bytesOf({ status, headers, body }: ServiceResponse, more: Record<string, string> = {}): Buffer {
  return Buffer.concat([Buffer.from(headOf(status, { ...headers, 'content-length': body.length, ...more })), body]);
}
