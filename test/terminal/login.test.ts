import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';
import { tempDirectory } from '../support/run.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

const LOGIN = ['login', '--base-url', 'https://api.example.com/v1'];

/** The slow tests run eight. */
const COUNT = propertyRuns(8, 2);

test(`${COUNT} logins at once keep ${COUNT} tokens, in files that only their owner can read, and no other file`, async () => {
  const directory = tempDirectory();
  const names = Array.from({ length: COUNT }, (_, index) => `p${index}`);
  // Their standard input stays open and silent.
  const logins = names.map((name) => {
    const env = { PARTNER_CONFIG_DIR: directory, PARTNER_TOKEN: `pat_of-${name}-0123456789` };
    return start([...LOGIN, '--no-verify', '--profile', name], { env, stdin: 'pipe' });
  });
  for (const ran of await Promise.all(logins)) expect(ran.exitCode, ran.stderr).toBe(0);
  const profiles = join(directory, 'profiles');
  expect(readdirSync(profiles).toSorted()).toEqual(['.current.json', ...names.map((name) => `${name}.json`)]);
  for (const name of names) {
    const path = join(profiles, `${name}.json`);
    expect(JSON.parse(readFileSync(path, 'utf8')).token).toBe(`pat_of-${name}-0123456789`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }
  expect(readdirSync(directory)).toEqual(['profiles']);
});

test('A background process of a token command keeps neither the command nor the reader of its pipes waiting', async () => {
  const directory = tempDirectory();
  const pidFile = join(directory, 'pid');
  const command = `sleep 600 & echo $! > ${pidFile}; echo pat_command`;
  const env = { PARTNER_CONFIG_DIR: directory };
  const ran = await start([...LOGIN, '--no-verify', '--token-command', command], { env });
  process.kill(Number(readFileSync(pidFile, 'utf8')));
  expect(ran).toMatchObject({ exitCode: 0 });
});

test.skipIf(!hasTmux)('Ctrl-D leaves a question (needs tmux)', async () => {
  const { keys, screen } = await inTmux(LOGIN, { HOME: tempDirectory() });
  await screen(/Partner token for \S+$/);
  await keys('abc');
  await screen(/\*\*\*$/);
  await keys('C-u', 'C-d');
  await screen(/error: Interrupted\.\nended with 130$/);
});

test.skipIf(!('enableCompileCache' in module))(
  "The compile cache is in the user's cache directory, unless NODE_DISABLE_COMPILE_CACHE is set (needs Node 22)",
  async () => {
    const [used, unused] = [join(tempDirectory(), 'cache'), tempDirectory()];
    expect(await start(['state', 'path'], { env: { XDG_CACHE_HOME: used } })).toMatchObject({ exitCode: 0 });
    expect(readdirSync(join(used, 'partnerctl', 'compiled'))).toHaveLength(1);
    const env = { XDG_CACHE_HOME: unused, NODE_DISABLE_COMPILE_CACHE: '1' };
    expect(await start(['state', 'path'], { env })).toMatchObject({ exitCode: 0 });
    expect(existsSync(join(unused, 'partnerctl'))).toBe(false);
  },
);
