import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDirectory } from './run.ts';

export const BASE = 'https://api.example.com/v1';
export const TOKEN = 'pat_a-token-that-nobody-may-see-0123456789';

/** A temporary home directory with a directory for profiles. */
export function createProfileHome() {
  const directory = tempDirectory();
  const config = join(directory, 'config');
  const path = join(config, 'profiles');
  return {
    config,
    path,
    env: { HOME: directory, PARTNER_CONFIG_DIR: config },
    /** Stores a profile, of which the first is the current one, as `login` does. */
    store(name: string, base_url = BASE, token = TOKEN, more: { readonly protected?: true } = {}): void {
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, `${name.replaceAll(' ', '%20')}.json`), JSON.stringify({ base_url, token, ...more }));
      if (readdirSync(path).length === 1) writeFileSync(join(path, '.current.json'), JSON.stringify({ current: name }));
    },
    /** The content of the files by their names, without the extension. */
    read(): Readonly<Record<string, Record<string, unknown>>> {
      const contentOf = (file: string) => JSON.parse(readFileSync(join(path, file), 'utf8'));
      return Object.fromEntries(readdirSync(path).map((file) => [file.replace('.json', ''), contentOf(file)]));
    },
  };
}
