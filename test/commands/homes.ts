import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { run, tempDirectory } from '../helpers/run.ts';

export const BASE = 'https://api.example.com/v1';
export const TOKEN = 'pat_a-token-that-nobody-may-see-0123456789';

/** A home of its own, and where the profiles are in it. */
export function home() {
  const directory = tempDirectory();
  const config = join(directory, 'config');
  return {
    config,
    path: join(config, 'config.json'),
    env: { HOME: directory, PARTNER_CONFIG_DIR: config },
    stored: () => JSON.parse(readFileSync(join(config, 'config.json'), 'utf8')),
  };
}

type Home = ReturnType<typeof home>;

/** Stores a profile there. */
export async function stored(at: Home, name: string, baseUrl = BASE, token = TOKEN): Promise<void> {
  const ran = await run(['login', '--profile', name, '--base-url', baseUrl, '--no-verify'], {
    env: at.env,
    stdin: `${token}\n`,
  });
  expect(ran).toMatchObject({ code: 0 });
}
