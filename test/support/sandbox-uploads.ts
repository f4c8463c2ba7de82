import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { request } from 'undici';
import type { LoggedRequest } from '../../src/sandbox/service.ts';
import { type ApiResponse, openConnection, type RawConnection, type SandboxClient } from './sandbox-client.ts';

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

/** Streams a body as a form, with a declared length if one is given. */
export async function streamForm(
  { sandbox, token }: Pick<SandboxClient, 'sandbox' | 'token'>,
  path: string,
  body: AsyncIterable<Uint8Array>,
  length?: number,
): Promise<{ status: number; json: { [name: string]: unknown } }> {
  const { statusCode, body: response } = await request(`${sandbox.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': MULTIPART,
      ...(length === undefined ? {} : { 'content-length': String(length) }),
    },
    body: Readable.from(body, { objectMode: false }),
  });
  const json: unknown = await response.json();
  return { status: statusCode, json: Object(json) };
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
