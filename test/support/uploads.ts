import { join } from 'node:path';
import { type Ran, type RunOptions, run, tempDirectory, tinyRandom, withDefaults } from './run.ts';
import { type Service, service } from './service.ts';

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
  readonly fields: Record<string, unknown>;
}

export interface Uploads extends Service {
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
  const it = await service();
  const directory = tempDirectory();
  const state = join(tempDirectory(), 'state.jsonl');
  return {
    ...it,
    directory,
    state,
    upload: (args, options = {}) =>
      run(['upload', ...withDefaults(['--state', state], args)], {
        random: tinyRandom,
        ...options,
        env: { ...it.env, ...options.env },
      }),
    kept: async () => (await it.admin('GET', '/uploads')).json.uploads,
  };
}
