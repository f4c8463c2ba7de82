import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { LoggedRequest } from '../../src/sandbox/service.ts';
import type { ApiResponse, SandboxClient } from './service.ts';

/* Uploads below the client: forms part by part, and bare connections that send them as a test likes. */

export const DOCUMENTS = '/automation/documents/';
export const ATTACHMENTS = '/automation/file-attachments/';

export const BOUNDARY = 'x-the-boundary-x';

const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

export function sha256(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The head of a form part: the parameters of its disposition, and further headers. */
export function partHead(parameters: string, more = ''): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data${parameters}\r\n${more}\r\n`;
}

export const FORM_END = `\r\n--${BOUNDARY}--\r\n`;

/** A form with one file. */
export function fileForm(content: Uint8Array | string, filename = 'a.bin'): Buffer {
  return Buffer.concat([
    Buffer.from(partHead(`; name="file"; filename="${filename}"`)),
    Buffer.from(content),
    Buffer.from(FORM_END),
  ]);
}

/** Posts a body as a form. */
export function postForm(
  { partner }: SandboxClient,
  path: string,
  raw: Uint8Array | string,
  type = MULTIPART,
): Promise<ApiResponse> {
  return partner('POST', path, { raw, headers: { 'content-type': type } });
}

/** Downloads the bytes of an upload. */
export async function downloadContent({ sandbox }: Pick<SandboxClient, 'sandbox'>, id: string): Promise<Buffer> {
  const headers = { authorization: `Bearer ${sandbox.adminKey}` };
  const response = await fetch(`${sandbox.adminUrl}/uploads/${id}/content`, { headers });
  if (!response.ok) throw new Error(`Downloading ${id} failed with ${response.status}.`);
  return Buffer.from(await response.arrayBuffer());
}

/** Sends the head of a POST and the start of its body on a bare connection. */
export function rawPost(
  on: SandboxClient,
  path: string,
  headers: string,
  body: Uint8Array | string = '',
): RawConnection {
  const common = `Host: localhost\r\nAuthorization: Bearer ${on.token}\r\nContent-Type: ${MULTIPART}\r\n`;
  const connection = openConnection(on, `POST /v1${path} HTTP/1.1\r\n${common}${headers}\r\n\r\n`);
  connection.socket.write(body);
  return connection;
}

/** Resolves once the newest logged request satisfies the predicate. */
export async function waitForLoggedRequest(
  { admin }: SandboxClient,
  test: (request: LoggedRequest) => boolean,
): Promise<void> {
  for (;;) {
    const requests: LoggedRequest[] = (await admin('GET', '/requests')).json.requests;
    const last = requests.at(-1);
    if (last && test(last)) return;
  }
}

/** A bare connection to a sandbox. */
interface RawConnection {
  readonly socket: Socket;
  /** Everything that was received, and how the connection ended: `ended`, `closed`, or the code of the error. */
  readonly whole: Promise<{ text: string; end: string }>;
  /** The first chunk that is received. */
  first(): Promise<string>;
}

/** Opens a connection that is closed when the test ends, and writes to it. */
export function openConnection({ sandbox }: Pick<SandboxClient, 'sandbox'>, request: string): RawConnection {
  const { hostname, port } = new URL(sandbox.baseUrl);
  const socket = connect(Number(port), hostname);
  let text = '';
  let end = 'closed';
  socket.on('data', (data) => {
    text += data;
  });
  socket.on('end', () => {
    end = 'ended';
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    end = error.code ?? 'error';
  });
  const whole = new Promise<{ text: string; end: string }>((resolve) => {
    socket.on('close', () => resolve({ text, end }));
  });
  onTestFinished(() => void socket.destroy());
  socket.write(request);
  const first = (): Promise<string> =>
    text ? Promise.resolve(text) : new Promise((resolve) => socket.once('data', (data) => resolve(String(data))));
  return { socket, whole, first };
}
