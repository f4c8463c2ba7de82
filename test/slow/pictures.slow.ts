import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { tempDirectory } from '../support/run.ts';
import { hasTmux } from '../support/tmux.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test.skipIf(!hasTmux)('npm run pictures draws the committed pictures of the README (needs tmux)', async () => {
  const directory = tempDirectory();
  await execa(process.execPath, ['.ci/pictures/index.js', directory], { cwd: ROOT });
  const drawn = readdirSync(directory).sort();
  expect(drawn).toEqual(['chat-tail.svg', 'doctor.svg', 'plan.svg']);
  for (const file of drawn) {
    expect(readFileSync(join(directory, file), 'utf8'), file).toBe(
      readFileSync(join(ROOT, '.ci/pictures', file), 'utf8'),
    );
  }
});
