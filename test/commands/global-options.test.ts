import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Program } from '../../src/cli/command.ts';
import { readHelp } from '../support/help.ts';
import { fastClock, run, tempDirectory } from '../support/run.ts';
import { service } from '../support/service.ts';

/* What holds for every command. */

test('The program reads every global option: one that nothing reads would do nothing, without a word', async () => {
  const read = new Set<PropertyKey>();
  const { opts } = Program.prototype;
  const spy = vi.spyOn(Program.prototype, 'opts').mockImplementation(function (this: Program) {
    return new Proxy(opts.call(this), {
      get: (values, name) => {
        read.add(name);
        return Reflect.get(values, name);
      },
    });
  });
  onTestFinished(() => spy.mockRestore());
  const { env } = await service();
  // A list reads the settings of the service, of the state, and of the output; a login asks where it may.
  expect((await run(['cron', 'list'], { env, columns: 80, clock: fastClock() })).code).toBe(0);
  expect((await run(['login'], { columns: 80 })).code).toBe(2);
  const names = (await readHelp()).global_flags.map(({ flag }) =>
    flag.replace(/^--(?:no-)?/, '').replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
  );
  expect(names.filter((name) => !read.has(name))).toEqual([]);
});

test('A table is colored as --color, NO_COLOR, FORCE_COLOR, and the terminal say, in this order', async () => {
  const it = await service();
  await it.admin('POST', '/spaces', { count: 1 });
  for (const [columns, variables, flags, isColored] of [
    [undefined, { FORCE_COLOR: '1' }, [], true],
    [undefined, { NO_COLOR: '1' }, ['--color', 'always'], true],
    [undefined, { FORCE_COLOR: '1' }, ['--color', 'never'], false],
    [100, { NO_COLOR: '' }, [], true],
    [100, { TERM: 'dumb' }, [], false],
    [100, { NO_COLOR: '1', FORCE_COLOR: '1' }, [], false],
  ] as const) {
    const ran = await run(['spaces', 'list', '-o', 'table', ...flags], { env: { ...it.env, ...variables }, columns });
    expect([variables, flags, ran.code, ran.stdout.includes('\u001b[')]).toEqual([variables, flags, 0, isColored]);
  }
});

const OFFLINE = { PARTNER_BASE_URL: 'http://127.0.0.1:1/v1', PARTNER_TOKEN: 'pat_0123456789' };
const JOB = ['cron', 'create', '--agent', 'agt_1', '--name', 'daily', '--schedule', '0 18 * * *'];

test.each<[string, (pipe: string) => string[]]>([
  ['provision <file>', (pipe) => ['provision', pipe]],
  ['--token-file', (pipe) => ['spaces', 'list', '--token-file', pipe]],
  ['cron create --instructions', (pipe) => [...JOB, '--instructions', `@${pipe}`]],
  ['sandbox start --script', (pipe) => ['sandbox', 'start', '--script', pipe]],
])('%s: --timeout ends the wait for a pipe without a writer', async (_, args) => {
  const pipe = join(tempDirectory(), 'pipe');
  await execa('mkfifo', [pipe]);
  const ran = await run([...args(pipe), '--timeout', '150ms'], { env: OFFLINE });
  expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--timeout') });
});

// With `recursive`, Node's mkdir never returns on such a file system, and no signal ends it.
test.runIf(process.platform === 'linux')('A directory that no one can create is an immediate error.', async () => {
  const ran = await run(['login', '--no-verify'], { env: { ...OFFLINE, PARTNER_CONFIG_DIR: '/proc/none' } });
  expect(ran).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/no such file or directory/i) });
});
