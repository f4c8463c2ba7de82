import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { type Running, shell, start, until } from '../support/program.ts';
import { errorIn, tempDirectory } from '../support/run.ts';
import { call, PROVISION, provisionBody } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

interface Listening {
  base_url: string;
  token: string;
  admin_url: string;
  admin_key: string;
}

async function listening(child: Running): Promise<Listening> {
  return JSON.parse(await until(child.stdout, /\n/));
}

const ids = async ({ base_url, token }: Listening): Promise<string[]> =>
  (await call('GET', `${base_url}/automation/spaces/`, { token })).json.results.map(
    (space: { external_space_id: string }) => space.external_space_id,
  );

describe('sandbox start', () => {
  test.each([
    ['SIGINT', [], []],
    ['SIGTERM', ['--webhook', 'http://127.0.0.1:9/'], ['webhook_secret']],
  ] as const)('prints one line of JSON, serves, and exits with 0 on %s', async (signal, flags, more) => {
    const child = start(['sandbox', 'start', '-o', 'json', ...flags]);
    const at = await listening(child);
    expect(Object.keys(at)).toEqual(['base_url', 'token', 'admin_url', 'admin_key', ...more]);
    expect(at.base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(await ids(at)).toEqual([]);
    child.kill(signal);
    expect(await child).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('error') });
    await expect(fetch(at.admin_url)).rejects.toThrow();
  });

  test('stops at --timeout', async () => {
    const ran = await start(['sandbox', 'start', '-o', 'json', '--timeout', '1s']);
    expect(ran).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('base_url') });
    expect(errorIn(ran.stderr).message).toContain('--timeout');
  });

  test('prints export lines that a shell can run', async () => {
    const child = start(['sandbox', 'start', '-o', 'table', '--webhook', 'http://127.0.0.1:9/']);
    const lines = await until(child.stdout, /PARTNER_WEBHOOK_SECRET=.*\n/);
    const listed = await shell(`${lines}\npartnerctl spaces list -o json && echo "$PARTNER_WEBHOOK_SECRET"`);
    expect(listed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\[\]\nwhsec_\S+\n$/), stderr: '' });
  });

  test('--data keeps data and tokens across a restart and kill -9', async () => {
    const data = join(tempDirectory(), 'data');
    const args = ['sandbox', 'start', '-o', 'json', '--data', data];
    const first = start(args);
    const at = await listening(first);
    const post = (to: string, id: string) =>
      call('POST', `${to}${PROVISION}`, { token: at.token, body: provisionBody(id) });
    expect((await post(at.base_url, 'one')).status).toBe(201);
    first.kill('SIGKILL');
    await first;

    const second = start(args);
    const again = await listening(second);
    expect(again.admin_key).toBe(at.admin_key);
    expect(await ids({ ...again, token: at.token })).toEqual(['one']);
    expect((await post(again.base_url, 'two')).status).toBe(201);
    second.kill('SIGTERM');
    expect((await second).exitCode).toBe(0);

    const third = start(args);
    expect(await ids(await listening(third))).toEqual(['one', 'two']);
  });

  test('prints the token that --data keeps even when PARTNER_TOKEN holds it', async () => {
    const args = ['sandbox', 'start', '-o', 'json', '--data', join(tempDirectory(), 'data')];
    const first = start(args);
    const { token } = await listening(first);
    first.kill('SIGTERM');
    await first;
    expect(await listening(start(args, { env: { PARTNER_TOKEN: token } }))).toMatchObject({ token });
  });

  test('rejects a data directory or port of another sandbox, and names it', async () => {
    const data = join(tempDirectory(), 'data');
    const at = await listening(start(['sandbox', 'start', '-o', 'json', '--data', data]));
    const sameData = await start(['sandbox', 'start', '--data', data]);
    expect(sameData).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining(data) });
    const { port } = new URL(at.base_url);
    const samePort = await start(['sandbox', 'start', '--port', port]);
    expect(samePort).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining(port) });
    expect(samePort.stderr).toContain('Give another --port');
    const inFile = await start(['sandbox', 'run', '--data', '/dev/null/data', '--', 'true']);
    expect(inFile).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('another directory with --data') });
    expect(inFile.stderr).not.toContain('--port');
  });

  test('--faults reads a plan from a file, and exits with 2 for an invalid one', async () => {
    const path = join(tempDirectory(), 'faults.json');
    const { writeFile } = await import('node:fs/promises');
    await writeFile(path, '{"rules":[{"kind":"status","status":503}]}');
    const at = await listening(start(['sandbox', 'start', '-o', 'json', '--faults', path]));
    expect((await call('GET', `${at.base_url}/automation/spaces/`, { token: at.token })).status).toBe(503);
    await writeFile(path, '{"rules":[{"kind":"nonsense"}]}');
    const refused = await start(['sandbox', 'start', '--faults', path, '--debug']);
    expect(refused).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('rules[0]') });
    await writeFile(path, 'not json');
    expect((await start(['sandbox', 'start', '--faults', path])).exitCode).toBe(2);
  });
});

describe('sandbox run', () => {
  const run = (script: string, settings: Parameters<typeof start>[1] = {}) =>
    start(['sandbox', 'run', '--', 'sh', '-c', script], settings);

  test('sets the environment, exits with the code of the command, and removes its files', async () => {
    const temporary = tempDirectory();
    const script =
      'echo "$PARTNER_BASE_URL $PARTNER_TOKEN $PARTNER_SANDBOX_URL $PARTNER_SANDBOX_KEY $PARTNER_STATE"; exit 7';
    const ran = await run(script, {
      env: { TMPDIR: temporary, PARTNER_TOKEN: 'mine', PARTNER_BASE_URL: 'https://a.example/v1' },
    });
    expect(ran).toMatchObject({ exitCode: 7, stderr: '' });
    const [baseUrl = '', token, adminUrl, adminKey, state = ''] = ran.stdout.trim().split(' ');
    expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(token).toMatch(/^pat_/);
    expect(adminUrl).toBe(baseUrl.replace('/v1', '/_sandbox'));
    expect(adminKey).toBeTruthy();
    expect(state.startsWith(temporary)).toBe(true);
    expect(existsSync(state)).toBe(false);
    expect(readdirSync(temporary)).toEqual([]);
    await expect(fetch(baseUrl)).rejects.toThrow();
  });

  test('puts this program on the PATH, connected to the sandbox', async () => {
    const ran = await run('partnerctl spaces list -o json && partnerctl --version');
    expect(ran).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ran.stdout).toMatch(/^\[\]\n\d+\.\d+\.\d+\n$/);
  });

  test('lets a login in the sandbox change no profile outside it', async () => {
    const real = tempDirectory();
    const login =
      'echo "$PARTNER_TOKEN" | partnerctl login --profile real --base-url "$PARTNER_BASE_URL" --token-file -';
    const ran = await run(`${login} && partnerctl profile list -o json`, { env: { PARTNER_CONFIG_DIR: real } });
    expect(ran).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('"real"') });
    expect(readdirSync(real)).toEqual([]);
  });

  test.skipIf(!hasTmux).each([
    ['bash', '.bashrc', 'PS1="mine> "'],
    ['zsh', '.zshrc', 'PS1="mine> "'],
    ['sh', '.shrc', ''],
  ])('marks the prompt of %s, whatever its configuration', async (program, file, config) => {
    const home = tempDirectory();
    writeFileSync(join(home, file), `${config}\n`);
    const terminal = await inTmux(['sandbox', 'run', '--', program], { HOME: home });
    await terminal.screen(config === '' ? /^\(sandbox\) \$$/m : /^\(sandbox\) mine>$/m);
  });

  test.each([[{ PATH: '' }], [{ PATH: '/usr/bin:/bin' }]])(
    'with %j does not add the current directory to the PATH',
    async ({ PATH }) => {
      const ran = await start(['sandbox', 'run', '--', '/bin/sh', '-c', 'echo "$PATH"'], { env: { PATH } });
      expect(ran.stdout.trim().split(':')).toEqual([expect.stringMatching(/bin$/), ...PATH.split(':').filter(Boolean)]);
    },
  );

  test('gives the command its own standard input, output, and error', async () => {
    const ran = await run('cat; echo oops >&2', { input: 'given' });
    expect(ran).toMatchObject({ exitCode: 0, stdout: 'given', stderr: 'oops\n' });
  });

  test.each([
    ['SIGTERM', 15],
    ['SIGINT', 2],
    ['SIGHUP', 1],
  ] as const)('passes %s to the command, whose exit code counts', async (signal, number) => {
    const temporary = tempDirectory();
    const script = `trap 'echo caught ${number}; exit 9' ${number}; echo ready; while :; do read line; done`;
    const child = run(script, { env: { TMPDIR: temporary }, stdin: 'pipe' });
    await until(child.stdout, /ready/);
    child.kill(signal);
    // The shell runs its trap when the read returns.
    child.stdin?.write('\n');
    expect(await child).toMatchObject({ exitCode: 9, stdout: `ready\ncaught ${number}\n` });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('--timeout ends the command, and removes the files', async () => {
    const temporary = tempDirectory();
    const args = ['sandbox', 'run', '--timeout', '1s', '--', 'sh', '-c', 'exec sleep 600'];
    const ran = await start(args, { env: { TMPDIR: temporary } });
    expect(ran).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--timeout') });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('exits with 128 plus the signal when a signal ended the command', async () => {
    expect((await run('kill -9 $$')).exitCode).toBe(137);
  });

  test('exits with 2 if the command does not exist, and removes its files', async () => {
    const temporary = tempDirectory();
    const ran = await start(['sandbox', 'run', '--', 'no-such-command'], { env: { TMPDIR: temporary } });
    expect(ran).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('"no-such-command"') });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('does not start the command after a signal during the start of the sandbox', async () => {
    const temporary = tempDirectory();
    const faults = join(tempDirectory(), 'faults.json');
    await execa('mkfifo', [faults]);
    const args = ['sandbox', 'run', '--faults', faults, '--', 'sh', '-c', 'echo started'];
    const child = start(args, { env: { TMPDIR: temporary } });
    // The open waits until the program reads the pipe; the program waits for what is never written.
    const { open } = await import('node:fs/promises');
    const writer = await open(faults, 'w');
    child.kill('SIGTERM');
    expect(await child).toMatchObject({ exitCode: 143, stdout: '' });
    await writer.close();
    expect(readdirSync(temporary)).toEqual([]);
  });
});
