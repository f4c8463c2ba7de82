import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { start, until } from '../support/program.ts';
import { run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';
import { createHome, expectNoToken, startEchoService, TOKEN } from '../support/token-echo.ts';

test('login stores the token only in the profile, however it is passed, and nothing shows it', async () => {
  const baseUrl = await startEchoService((header, response) =>
    response.end(JSON.stringify([{ space_id: 'a', note: header }])),
  );
  const { home, env, files } = createHome();
  const tokenFile = write('token', `${TOKEN}\n`);
  const login = ['login', '--base-url', baseUrl, '--debug'];
  const ways = [
    { stdin: TOKEN },
    { more: ['--token-file', tokenFile], home: join(home, 'file') },
    { more: ['--token-command', `cat ${tokenFile}`], home: join(home, 'command') },
  ];
  const expectQuiet = async (args: readonly string[], options: Parameters<typeof run>[1]): Promise<void> => {
    const ran = await run(args, options);
    expect(ran.code).toBe(0);
    expectNoToken(args.join(' '), ran.stdout + ran.stderr);
  };
  for (const { more = [], stdin = '', home: PARTNER_CONFIG_DIR = env.PARTNER_CONFIG_DIR } of ways)
    await expectQuiet([...login, ...more], { env: { PATH: process.env.PATH, ...env, PARTNER_CONFIG_DIR }, stdin });
  for (const rest of [['profile', 'show'], ['profile', 'list'], ['spaces', 'list'], ['logout']])
    await expectQuiet([...rest, '--debug', '-o', 'json'], { env });
  expectNoToken('the profile after logout', readFileSync(join(home, 'config', 'profiles', 'default.json'), 'utf8'));
  await writeFile(join(home, 'file', 'profiles', 'default.json'), '');
  expectNoToken('a file', files());
});

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
