import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { run, tempDirectory } from '../support/run.ts';

export const BASE = 'https://api.example.com/v1';
export const TOKEN = 'pat_a-token-that-nobody-may-see-0123456789';

/** A temporary home directory with a directory for profiles. */
export function createProfileHome() {
  const directory = tempDirectory();
  const config = join(directory, 'config');
  return {
    config,
    path: join(config, 'profiles'),
    env: { HOME: directory, PARTNER_CONFIG_DIR: config },
    /** The content of the files by their names, without the extension. */
    read: () => readProfileFiles(config),
  };
}

function readProfileFiles(config: string): Readonly<Record<string, Record<string, unknown>>> {
  const read = (file: string) => JSON.parse(readFileSync(join(config, 'profiles', file), 'utf8'));
  return Object.fromEntries(
    readdirSync(join(config, 'profiles')).map((file) => [file.replace('.json', ''), read(file)]),
  );
}

type ProfileHome = ReturnType<typeof createProfileHome>;

/** Stores a profile with `login`. */
export async function storeProfile(home: ProfileHome, name: string, baseUrl = BASE, token = TOKEN): Promise<void> {
  const ran = await run(['login', '--profile', name, '--base-url', baseUrl, '--no-verify'], {
    env: home.env,
    stdin: `${token}\n`,
  });
  expect(ran).toMatchObject({ code: 0 });
}
