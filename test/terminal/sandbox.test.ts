import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { type Running, shell, start, until } from '../support/program.ts';
import { run, tempDirectory } from '../support/run.ts';
import { call, PROVISION, provisionBody } from '../support/service.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';

const JSON_START = ['sandbox', 'start', '-o', 'json'];

interface Listening {
  base_url: string;
  token: string;
  admin_url: string;
  admin_key: string;
  state: string;
  config_dir: string;
}

async function listening(child: Running): Promise<Listening> {
  return JSON.parse(await until(child.stdout, /\n/));
}

const ids = async ({ base_url, token }: Listening): Promise<string[]> =>
  (await call('GET', `${base_url}/automation/spaces/`, { token })).json.results.map(
    (space: { external_space_id: string }) => space.external_space_id,
  );

describe('sandbox start', () => {
  test('prints export lines that a shell can run, and exits with 0 on SIGTERM', async () => {
    const child = start(['sandbox', 'start', '-o', 'table', '--webhook', 'http://127.0.0.1:9/']);
    const lines = await until(child.stdout, /PARTNER_WEBHOOK_SECRET=.*\n/);
    const script = 'partnerctl spaces list -o json && echo "$PARTNER_WEBHOOK_SECRET $PARTNER_STATE $PARTNER_PROFILE"';
    const listed = await shell(`export PARTNER_PROFILE=mine\n${lines}\n${script}`);
    const stdout = expect.stringMatching(/^\[\]\nwhsec_\S+ \S+partnerctl-sandbox-\S+state\.jsonl \n$/);
    expect(listed).toMatchObject({ exitCode: 0, stdout, stderr: '' });
    child.kill('SIGTERM');
    expect(await child).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('error') });
  });

  test('prints one line of JSON, and --data keeps data and tokens across kill -9, from one sandbox at a time', async () => {
    const data = join(tempDirectory(), 'data');
    const first = start([...JSON_START, '--data', data]);
    const at = await listening(first);
    expect(Object.keys(at)).toEqual(['base_url', 'token', 'admin_url', 'admin_key', 'state', 'config_dir']);
    expect([at.state, at.config_dir]).toEqual([join(data, 'state.jsonl'), join(data, 'config')]);
    expect(at.base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(await ids(at)).toEqual([]);
    const body = provisionBody('one');
    expect((await call('POST', `${at.base_url}${PROVISION}`, { token: at.token, body })).status).toBe(201);

    const sameData = await run(['sandbox', 'start', '--data', data]);
    expect(sameData).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(data) });
    const { port } = new URL(at.base_url);
    const samePort = await run(['sandbox', 'start', '--port', port]);
    expect(samePort).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(port) });
    expect(samePort.stderr).toContain('Give another --port');

    first.kill('SIGKILL');
    await first;
    // It prints the token that it keeps even where PARTNER_TOKEN holds it.
    const second = start([...JSON_START, '--data', data], { env: { PARTNER_TOKEN: at.token } });
    const again = await listening(second);
    expect(again).toMatchObject({ token: at.token, admin_key: at.admin_key });
    expect(await ids(again)).toEqual(['one']);
    second.kill('SIGINT');
    expect((await second).exitCode).toBe(0);
    await expect(fetch(at.admin_url)).rejects.toThrow();
  });
});

describe('sandbox run', () => {
  const sandboxRun = (script: string, settings: Parameters<typeof start>[1] = {}) =>
    start(['sandbox', 'run', '--', 'sh', '-c', script], settings);

  test('connects its command to the sandbox, exits with its code, and removes its files', async () => {
    const [temporary, real] = [tempDirectory(), tempDirectory()];
    const script = [
      'echo "$PARTNER_BASE_URL $PARTNER_TOKEN $PARTNER_SANDBOX_URL $PARTNER_SANDBOX_KEY $PARTNER_STATE $PARTNER_PROFILE"; cat',
      'partnerctl spaces list -o json',
      // A login in the sandbox changes no profile outside it.
      'echo "$PARTNER_TOKEN" | partnerctl login -q --profile real --base-url "$PARTNER_BASE_URL" --token-file - >&2',
      'exit 7',
    ].join('\n');
    const env = {
      ...{ TMPDIR: temporary, PARTNER_CONFIG_DIR: real, PARTNER_PROFILE: 'real', PARTNER_TOKEN: 'mine' },
      ...{ PARTNER_BASE_URL: 'https://api.example.com/v1', PARTNER_STATE: join(real, 'real.jsonl') },
    };
    const ran = await sandboxRun(script, { env, input: 'given\n' });
    expect(ran.exitCode).toBe(7);
    const [places = '', ...output] = ran.stdout.split('\n');
    expect(output).toEqual(['given', '[]', '']);
    const [baseUrl = '', token, adminUrl, adminKey, state = '', profile] = places.split(' ');
    expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(token).toMatch(/^pat_/);
    expect(adminUrl).toBe(baseUrl.replace('/v1', '/_sandbox'));
    expect(adminKey).toBeTruthy();
    expect(state.startsWith(temporary)).toBe(true);
    expect(profile).toBe('');
    expect(existsSync(state)).toBe(false);
    expect(ran.stderr).toContain('real');
    expect([readdirSync(temporary), readdirSync(real)]).toEqual([[], []]);
    await expect(fetch(baseUrl)).rejects.toThrow();
  });

  test.skipIf(!hasTmux).each([
    ['bash', '.bashrc', 'PS1="mine> "'],
    ['sh', '.shrc', ''],
  ])('marks the prompt of %s, whatever its configuration', async (program, file, config) => {
    const home = tempDirectory();
    writeFileSync(join(home, file), `${config}\n`);
    const terminal = await inTmux(['sandbox', 'run', '--', program], { HOME: home });
    await terminal.screen(config === '' ? /^\(sandbox\) \$$/m : /^\(sandbox\) mine>$/m);
  });

  test('passes SIGTERM to the command, whose exit code counts', async () => {
    const temporary = tempDirectory();
    const script = "trap 'echo caught; exit 9' TERM; echo ready; while :; do :; done";
    const child = sandboxRun(script, { env: { TMPDIR: temporary } });
    await until(child.stdout, /ready/);
    child.kill('SIGTERM');
    expect(await child).toMatchObject({ exitCode: 9, stdout: 'ready\ncaught\n' });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('does not start the command after a signal during the start of the sandbox', async () => {
    const temporary = tempDirectory();
    const faults = join(tempDirectory(), 'faults.json');
    await execa('mkfifo', [faults]);
    const args = ['sandbox', 'run', '--faults', faults, '--', 'sh', '-c', 'echo started'];
    const child = start(args, { env: { TMPDIR: temporary } });
    // The open waits until the program reads the pipe; the program waits for what is never written.
    const writer = await open(faults, 'w');
    child.kill('SIGTERM');
    expect(await child).toMatchObject({ exitCode: 143, stdout: '' });
    await writer.close();
    expect(readdirSync(temporary)).toEqual([]);
  });
});
