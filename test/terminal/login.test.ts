import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import module from 'node:module';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { start, until } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';
import { tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';
import { createHome, expectNoToken, startEchoService, TOKEN } from '../support/token-echo.ts';

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

test.skipIf(process.platform !== 'linux')(
  'the token is not in the arguments of the process or its children',
  async () => {
    const release: (() => void)[] = [];
    const baseUrl = await startEchoService((_, response) => void release.push(() => response.end('[]')));
    const { env } = createHome();
    const gate = join(tempDirectory(), 'gate');
    const file = write('token', TOKEN);
    await execa('mkfifo', [gate]);
    // Runs until the test writes to the gate, so that its arguments can be read, and starts no children meanwhile.
    const command = `cat ${file}; echo; echo running >&2; read line < ${gate}`;
    const child = start(['login', '--base-url', baseUrl, '--token-command', command, '--debug'], { env });
    await until(child.stderr, /running/);
    const processes = [child.pid ?? 0, ...descendantsOf(child.pid ?? 0)];
    expect(processes.length).toBeGreaterThan(1);
    for (const pid of processes) expectNoToken(`arguments of ${pid}`, readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    await writeFile(gate, '\n');
    await expect.poll(() => release.length, { interval: 20 }).toBeGreaterThan(0);
    expectNoToken('arguments', readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'));
    for (const go of release) go();
    expect((await child).exitCode).toBe(0);
  },
);

function descendantsOf(pid: number): number[] {
  const direct = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return direct.flatMap((each) => [each, ...descendantsOf(each)]);
}
