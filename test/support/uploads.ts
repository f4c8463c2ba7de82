import { hash } from 'node:crypto';
import { truncateSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import {
  type FakeService,
  type Handler,
  json,
  type Script,
  type Step,
  sendJson,
  startFakeService,
} from './fake-service.ts';
import { fastClock, type Ran, type RunOptions, run, TOKEN, tempDirectory, tinyRandom, withDefaults } from './run.ts';
import { type ApiResponse, type SandboxClient, service, write } from './service.ts';
import { recordTypes } from './state-file.ts';

/** A result as `upload -o json` writes it. */
export interface UploadAnswer {
  readonly file: string;
  readonly id: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
  readonly status: string;
}

/** The stored files of the sandbox. */
export interface Kept {
  readonly file_attachment_id?: string;
  readonly filename?: string;
  readonly content_type: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** A state file, and runs of `upload` with it, in which waits take no time unless a clock is given. */
function createUploader(env: Readonly<Record<string, string>>) {
  const state = join(tempDirectory(), 'state.jsonl');
  return {
    state,
    upload: (args: readonly string[], options: RunOptions = {}): Promise<Ran> =>
      run(['upload', ...withDefaults(['--state', state], args)], {
        random: tinyRandom,
        clock: fastClock(),
        ...options,
        env: { ...env, ...options.env },
      }),
    /** The types of the records in the state, in order, without `upload.`. */
    records: () => recordTypes(state, 'upload.'),
  };
}

/** A sandbox to upload to, and a directory for the test's files. */
export async function uploads() {
  const sandbox = await service();
  return {
    ...sandbox,
    ...createUploader(sandbox.env),
    directory: tempDirectory(),
    /** What the service has stored, in order of arrival. */
    kept: async (): Promise<readonly Kept[]> => (await sandbox.admin('GET', '/uploads')).json.uploads,
  };
}

/** Uploads with JSON output to a URL. */
export function uploadsTo(baseUrl: string) {
  return createUploader({ PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: TOKEN, PARTNER_OUTPUT: 'json' });
}

/** Starts a fake service to upload to with JSON output. */
export async function startUploads(script: Script) {
  const service = await startFakeService(script);
  return { service, ...uploadsTo(service.baseUrl) };
}

export const MB = 1024 * 1024;

/** More than the system buffers on its way to a service that does not read. */
export const LARGE = 16 * MB;

/** Writes a sparse file, which takes no space on the disk, and returns its path. */
export function largeFile(bytes = LARGE): string {
  const path = write('large.bin', '');
  truncateSync(path, bytes);
  return path;
}

export const smallFile = (): string => write('small.txt', 'hello');

export const sendId = (response: Parameters<Handler>[1], id: string): void =>
  sendJson(response, { file_attachment_id: id }, 201);

/** Reads the entire body and returns an id. */
export const accept: Handler = (_, response, count) => sendId(response, `att_${count}`);

/** Responds as soon as this much of the body has arrived, and continues to read. */
export function refuseEarly(status: number, bytes: number, headers?: Record<string, string>): Step {
  return onceReceived(bytes, json({ code: 'the_code', message: 'Not this.' }, status, headers));
}

/** Runs once this much of the body has arrived, and continues to read. */
export function onceReceived(bytes: number, handler: Handler): Step {
  return {
    onHeaders: async (request, response, count) => {
      await request.readBytes(bytes);
      await handler(request, response, count);
    },
  };
}

/** Whether each request arrived completely. */
export const completed = ({ requests }: FakeService): boolean[] => requests.map(({ isComplete }) => isComplete);

export function statusesOf(ran: Ran): string[] {
  return ran.json<UploadAnswer[]>().map(({ status }) => status);
}

/* Uploads below the client: forms part by part, and bare connections that send them as a test likes. */

export const DOCUMENTS = '/automation/documents/';
export const ATTACHMENTS = '/automation/file-attachments/';

export const BOUNDARY = 'x-the-boundary-x';

export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

export function sha256(content: Uint8Array | string): string {
  return hash('sha256', content, 'hex');
}

/** The head of a form part, with the parameters of its disposition. */
export function partHead(parameters: string): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data${parameters}\r\n\r\n`;
}

export const FORM_END = `\r\n--${BOUNDARY}--\r\n`;

/** A form with one file. */
export function fileForm(content: Uint8Array | string): Buffer {
  const parts = [partHead('; name="file"; filename="a.bin"'), content, FORM_END];
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

/** Posts a body as a form. */
export function postForm({ partner }: SandboxClient, path: string, raw: Uint8Array | string): Promise<ApiResponse> {
  return partner('POST', path, { raw, headers: { 'content-type': MULTIPART } });
}

/**
 * Opens a connection to a sandbox that is closed when the test ends, and writes to it. `whole` resolves with everything that was
 * received, and only if the sandbox ended the connection.
 */
export function openConnection({ sandbox }: Pick<SandboxClient, 'sandbox'>, request: string) {
  const { hostname, port } = new URL(sandbox.baseUrl);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.write(request);
  return { socket, whole: () => text(socket) };
}
