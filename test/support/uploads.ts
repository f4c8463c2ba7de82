import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { type FakeService, type Handler, type Script, type Step, sendJson, startFakeService } from './fake-service.ts';
import { fastClock, type Ran, type RunOptions, run, tempDirectory, tinyRandom, withDefaults } from './run.ts';
import { type Service, service, write } from './service.ts';
import { recordTypes } from './state-file.ts';

/** A result as `upload -o json` writes it. */
export interface UploadAnswer {
  readonly file: string;
  readonly as: string;
  readonly id: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
  readonly status: string;
  readonly error: { readonly type: string; readonly message: string } | null;
}

/** The stored files of the sandbox. */
export interface Kept {
  readonly file_attachment_id?: string;
  readonly document_id?: string;
  readonly filename?: string;
  readonly name?: string;
  readonly content_type: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

interface Uploads extends Service {
  /** The directory of the test's files. */
  readonly directory: string;
  readonly state: string;
  /** Runs `partnerctl upload …` with the state file. */
  upload(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** What the service has stored, in order of arrival. */
  kept(): Promise<readonly Kept[]>;
}

/** A service to upload to, for one test. */
export async function uploads(): Promise<Uploads> {
  const sandbox = await service();
  const directory = tempDirectory();
  const state = join(tempDirectory(), 'state.jsonl');
  return {
    ...sandbox,
    directory,
    state,
    upload: (args, options = {}) =>
      run(['upload', ...withDefaults(['--state', state], args)], {
        random: tinyRandom,
        ...options,
        env: { ...sandbox.env, ...options.env },
      }),
    kept: async () => (await sandbox.admin('GET', '/uploads')).json.uploads,
  };
}

/** The token of `createUploader`. */
export const UPLOAD_TOKEN = 'pat_uploads_0123456789abcdef';

interface Uploader {
  /** The path of the state file. */
  readonly state: string;
  /** Runs `partnerctl upload … -o json`. Waits take no time unless a clock is given. */
  upload(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** The types of the records in the state, in order, without `upload.`. */
  records(): Promise<string[]>;
}

export function createUploader(baseUrl: string): Uploader {
  const state = join(tempDirectory(), 'state.jsonl');
  return {
    state,
    upload: (args, options = {}) =>
      run(['upload', ...args, '-o', 'json', '--state', state], {
        random: tinyRandom,
        clock: fastClock(),
        ...options,
        env: { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: UPLOAD_TOKEN, ...options.env },
      }),
    records: async () => (await recordTypes(state)).map((type) => type.replace('upload.', '')),
  };
}

/** Starts a fake service, and returns it with an uploader. */
export async function startUploads(script: Script): Promise<Uploader & { readonly service: FakeService }> {
  const service = await startFakeService(script);
  return { service, ...createUploader(service.baseUrl) };
}

export const MB = 1024 * 1024;

/** More than the system buffers on its way to a service that does not read. */
export const LARGE = 24 * MB;

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
export function refuseEarly(status: number, bytes: number, headers: Record<string, string> = {}): Step {
  return {
    onHeaders: async (request, response) => {
      if (bytes > 0) await request.readBytes(bytes);
      else void request.readBody();
      sendJson(response, { code: 'the_code', message: 'Not this.' }, status, headers);
    },
  };
}

/** Runs once this much of the body has arrived. */
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
