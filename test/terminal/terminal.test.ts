import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { schedules } from '../support/cron.ts';
import { holdRequests } from '../support/fake-service.ts';
import { createProfileHome } from '../support/profile-home.ts';
import { PROGRAM, startFile, until } from '../support/program.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service } from '../support/service.ts';
import { Screen } from '../support/sinks.ts';
import { shortenLeases } from '../support/state-file.ts';

const hasScript = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ?? false;

const LOGIN = ['login', '--base-url', 'https://api.example.com/v1'];
const TOKEN = 'pat_typed-at-the-prompt-0123456789';

interface Terminal {
  readonly env: Record<string, string>;
  readonly columns?: number;
  /** For the shell: `2> path`. */
  readonly redirection?: string;
}

/** Runs the program with a real terminal for stdin, stdout, and stderr. */
function inTerminal(args: readonly string[], { env, columns = 100, redirection = '' }: Terminal) {
  const line = [process.execPath, PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
  return startFile('script', ['-qec', `stty cols ${columns} rows 40; exec ${line} ${redirection}`, '/dev/null'], {
    stdin: 'pipe',
    env: { TERM: 'xterm-256color', SHELL: '/bin/sh', ...env },
  });
}

/** Terminal output with plain line feeds. */
const plain = (text: string): string => text.replaceAll('\r\n', '\n');
const withoutColor = (text: string): string => plain(text).replaceAll(/\u001b\[[0-9;]*m/g, '');

/** The text that stays on the screen: on each line, what was written after it was last cleared. */
const visibleText = (text: string): string =>
  plain(text)
    .split('\n')
    .map((line) => line.replace(/^.*\u001b\[0?K/s, '').replaceAll(/\u001b\[[?\d;]*[A-Za-z]/g, ''))
    .join('\n');

describe.skipIf(!hasScript)('in a real terminal (needs script of util-linux)', () => {
  test('a list is a table, and NO_COLOR wins over FORCE_COLOR without a warning of Node', async () => {
    const { admin, env } = await service();
    await admin('POST', '/spaces', { count: 1, prefix: 'acme' });
    const ran = await inTerminal(['spaces', 'list'], { env: { ...env, NO_COLOR: '1', FORCE_COLOR: '1' } });
    expect(ran.exitCode).toBe(0);
    expect(plain(ran.stdout)).toMatch(/^NAME +EXTERNAL ID +SPACE +ORG-WIDE\n.* acme-1 .*\n$/);
  });

  test('an operation of more than a second shows a spinner, which disappears at the end', async () => {
    const { env, release } = await holdRequests(await service(), () => true);
    const child = inTerminal(['spaces', 'list'], { env });
    await until(child.stdout, /Listing spaces/);
    release();
    const ran = await child;
    expect(visibleText(ran.stdout)).toBe('There are no spaces that the token can access.\n');
    expect(ran.stdout).not.toContain('\u001b[?25l');
  });

  test('-q, CI, and a terminal without a size, as in a container, hide the spinner', async () => {
    const { env, faults } = await service();
    await faults({ kind: 'delay', ms: 1_200 });
    const screen = new Screen();
    const inProcess = (args: readonly string[], more: Record<string, string>) =>
      run(['spaces', 'list', ...args], { env: { ...env, ...more }, columns: 100, terminal: screen });
    const [sizeless] = await Promise.all([
      inTerminal(['spaces', 'list'], { env, columns: 0 }),
      inProcess(['-q'], {}),
      inProcess([], { CI: '1' }),
    ]);
    expect(plain(sizeless.stdout)).toBe('There are no spaces that the token can access.\n');
    expect(screen.output).toBe('');
  });

  test('login asks for the URL, and for the token without showing it', async () => {
    const { sandbox, token } = await service();
    const home = tempDirectory();
    const child = inTerminal(['login'], { env: { HOME: home, PARTNER_CONFIG_DIR: join(home, 'config') } });
    await until(child.stdout, /Base URL of the service/);
    child.stdin?.write(`${sandbox.baseUrl}\r`);
    await until(child.stdout, /Partner token/);
    child.stdin?.write(`${token}\r`);
    const ran = await child;
    expect(ran.exitCode).toBe(0);
    for (let at = 0; at + 8 <= token.length; at += 1) expect(ran.stdout).not.toContain(token.slice(at, at + 8));
    expect(readFileSync(join(home, 'config', 'profiles', 'default.json'), 'utf8')).toContain(token);
  });

  test('Ctrl-C in a tail leaves the next prompt on a line of its own', async () => {
    const opened = await service();
    const chat = await createChat(opened);
    await chat.send('Anybody?', { session_id: 's' });
    const args = ['chat', 'tail', '--source', chat.source_id, '--session', 's', '--from-start'];
    const child = inTerminal(args, { env: opened.env });
    await until(child.stdout, /You said: Anybody\?/);
    child.stdin?.write('\x03');
    const ran = await child;
    expect(ran.exitCode).toBe(0);
    expect(ran.stdout).toMatch(/\^C\r\n$/);
  });

  /** A home with the protected profile `live` for a service. */
  async function protectedHome() {
    const it = await service();
    const home = createProfileHome();
    home.store('live', it.sandbox.baseUrl, it.token, { protected: true });
    return { ...it, file: join(home.path, 'live.json'), env: home.env };
  }

  test('a write through a protected profile asks for its name, and sends nothing before', async () => {
    const { posts, received, file, env } = await protectedHome();
    const child = inTerminal(['upload', file, '--profile', 'live'], { env });
    await until(child.stdout, /Profile "live" is protected/);
    child.stdin?.write('test\r');
    await until(child.stdout, /That is not live/);
    expect(await received()).toEqual([]);
    child.stdin?.write('\u007f\u007f\u007f\u007flive\r');
    expect((await child).exitCode).toBe(0);
    expect(await posts()).toHaveLength(1);
  });

  test.each([
    ['a manifest', ['provision', '-'], manifest('acme')],
    ['a file of jobs', ['cron', 'create', '-f', '-'], "[{ agent: a, name: n, instructions: i, schedule: '@daily' }]\n"],
  ])(
    '%s that was typed leaves nobody to ask: the write is refused, with the flag that confirms it',
    async (_, args, text) => {
      const { received, env } = await protectedHome();
      const child = inTerminal([...args, '--profile', 'live'], { env });
      child.stdin?.write(text.replaceAll('\n', '\r'));
      child.stdin?.write('\u0004');
      const ran = await child;
      expect({ code: ran.exitCode, received: await received() }, ran.stdout).toEqual({ code: 2, received: [] });
      expect(ran.stdout).toContain('add --confirm live');
    },
  );

  test('what is typed after a question is read: the file that follows a confirmation is uploaded', async () => {
    const { posts, env } = await protectedHome();
    const child = inTerminal(['upload', '-', '--filename', 'notes.txt', '--profile', 'live'], { env });
    await until(child.stdout, /Profile "live" is protected/);
    child.stdin?.write('live\r');
    // The prompt is gone once the terminal itself shows what is typed: a comment.
    const isEchoed = until(child.stdout, /#/).then(() => true);
    await expect
      .poll(() => {
        child.stdin?.write('#\r');
        return Promise.race([isEchoed, false]);
      })
      .toBe(true);
    child.stdin?.write('\u0004');
    const ran = await child;
    expect({ code: ran.exitCode, posts: (await posts()).length }, ran.stdout).toEqual({ code: 0, posts: 1 });
  });

  test('Ctrl-C at a prompt exits with 130 and stores nothing, and --color never also applies to it', async () => {
    const home = tempDirectory();
    const child = inTerminal([...LOGIN, '--color', 'never'], { env: { HOME: home } });
    await until(child.stdout, /Partner token for https:\/\/api\.example\.com\/v1/);
    child.stdin?.write(`${TOKEN.slice(0, 10)}\u0003`);
    const ran = await child;
    expect(ran.exitCode).toBe(130);
    expect(ran.stdout).not.toContain(TOKEN.slice(0, 10));
    expect(ran.stdout).not.toMatch(/\x1b\[[\d;]*m/);
    expect(() => readdirSync(join(home, '.config', 'partnerctl'))).toThrow();
  });

  test('--timeout ends a prompt', async () => {
    const ran = await inTerminal([...LOGIN, '--timeout', '1s'], { env: { HOME: tempDirectory() } });
    expect(ran).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('did not finish within --timeout') });
  });

  test('login does not ask in CI, nor if stderr leads to a file, and says so', async () => {
    const home = tempDirectory();
    const ran = await inTerminal(LOGIN, { env: { HOME: home, CI: '1' } });
    expect(ran).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('nobody can be asked') });
    const log = join(home, 'log');
    expect((await inTerminal(LOGIN, { env: { HOME: home }, redirection: `2> '${log}'` })).exitCode).toBe(2);
    expect(readFileSync(log, 'utf8')).toContain('There is no token, and nobody can be asked for it.');
  });

  test('cron forget asks, and the Enter key alone is a no', async () => {
    const jobs = await schedules();
    await jobs.create();
    const before = await jobs.records();
    const args = ['cron', 'forget', '--agent', jobs.agent, '--name', 'daily', '--state', jobs.state];
    const child = inTerminal(args, { env: jobs.env });
    await until(child.stdout, /\(y\/N\)/);
    child.stdin?.write('\r');
    const { exitCode, stdout } = await child;
    const shown = withoutColor(stdout).replace(/\s+/g, ' ');
    expect(shown).toContain('keeps running at the service; this only lets a job of that name be created again.');
    expect(shown).toContain('error: Not confirmed. Nothing was changed.');
    expect(exitCode).toBe(2);
    expect(await jobs.records()).toEqual(before);
  });

  test('cron reconcile asks about a job that is not listed after the lease', async () => {
    const jobs = await schedules();
    await jobs.faults({ kind: 'reset', on: 'POST', times: 1 });
    await jobs.create();
    shortenLeases(jobs.state, 1);
    const child = inTerminal(['cron', 'reconcile', '--state', jobs.state], { env: jobs.env, columns: 200 });
    await until(child.stdout, /\(y\/N\)/);
    child.stdin?.write('y\r');
    const ran = await child;
    expect(ran.exitCode).toBe(0);
    expect(withoutColor(ran.stdout)).toContain('released');
    expect((await jobs.create()).code).toBe(0);
    expect(await jobs.jobs()).toHaveLength(1);
  });

  test('Ctrl-C in sandbox run reaches the command once', async () => {
    const script = 'trap "echo caught; exit 9" INT; echo ready; while :; do :; done';
    const child = inTerminal(['sandbox', 'run', '--', 'sh', '-c', script], { env: { HOME: tempDirectory() } });
    await until(child.stdout, /ready/);
    child.stdin?.write('\u0003');
    const ran = await child;
    expect(ran.exitCode).toBe(9);
    expect(ran.stdout.match(/caught/g)).toHaveLength(1);
  });

  test('a prompt ends with 129 when the terminal disappears', async () => {
    const result = join(tempDirectory(), 'result');
    await execa('mkfifo', [result]);
    const program = [process.execPath, PROGRAM, ...LOGIN].map((arg) => `'${arg}'`).join(' ');
    // The parent, which sees the exit code, outlives the terminal.
    const line = `( trap '' HUP; ${program}; echo $? > ${result} ); true`;
    const terminal = startFile('script', ['-qec', line, '/dev/null'], {
      stdin: 'pipe',
      env: { TERM: 'xterm-256color', SHELL: '/bin/sh', HOME: tempDirectory() },
    });
    await until(terminal.stdout, /Partner token/);
    terminal.kill('SIGKILL');
    expect(Number(await readFile(result, 'utf8'))).toBe(129);
  });
});
