import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { start, until } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';
import { createHome, expectNoToken, startEchoService, TOKEN } from '../support/token-echo.ts';

test('login stores the token only in the profile, however it is passed', async () => {
  const baseUrl = await startEchoService((header, response) =>
    response.end(JSON.stringify([{ space_id: 'a', note: header }])),
  );
  const { home, env, files } = createHome();
  const tokenFile = write('token', `${TOKEN}\n`);
  const login = ['login', '--base-url', baseUrl, '--debug'];
  const ways = [
    start([...login, '--profile', 'a'], { env, input: TOKEN }),
    start([...login, '--profile', 'b', '--token-file', tokenFile], {
      env: { ...env, PARTNER_CONFIG_DIR: join(home, 'b') },
    }),
    start([...login, '--profile', 'c', '--token-command', `cat ${tokenFile}`], {
      env: { ...env, PARTNER_CONFIG_DIR: join(home, 'c') },
    }),
  ];
  for (const ran of await Promise.all(ways)) {
    expect(ran.exitCode).toBe(0);
    expectNoToken('stdout', ran.stdout);
    expectNoToken('stderr', ran.stderr);
  }
  for (const rest of [['profile', 'show'], ['profile', 'list'], ['spaces', 'list'], ['logout']]) {
    const ran = await start([...rest, '--debug', '-o', 'json'], { env });
    expect(ran.exitCode).toBe(0);
    expectNoToken(rest.join(' '), ran.stdout + ran.stderr);
  }
  expectNoToken('the profile after logout', readFileSync(join(home, 'config', 'config.json'), 'utf8'));
  writeFileSync(join(home, 'b', 'config.json'), '');
  expectNoToken('a file', files());
});

test.skipIf(!existsSync('/proc/self/cmdline'))(
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
