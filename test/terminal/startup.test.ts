import { existsSync, readdirSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';

/** Node 20 has no compile cache for programs. */
const hasCompileCache = 'enableCompileCache' in module;

test.skipIf(!hasCompileCache)("The compile cache is in the user's cache directory (needs Node 22)", async () => {
  const directory = join(tempDirectory(), 'cache');
  expect(await start(['state', 'path'], { env: { XDG_CACHE_HOME: directory } })).toMatchObject({ exitCode: 0 });
  expect(readdirSync(join(directory, 'partnerctl', 'compiled'))).toHaveLength(1);
});

test('NODE_DISABLE_COMPILE_CACHE disables the compile cache', async () => {
  const directory = tempDirectory();
  const env = { XDG_CACHE_HOME: directory, NODE_DISABLE_COMPILE_CACHE: '1' };
  expect(await start(['state', 'path'], { env })).toMatchObject({ exitCode: 0 });
  expect(existsSync(join(directory, 'partnerctl'))).toBe(false);
});
