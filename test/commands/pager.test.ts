import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type RunOptions, run, tempDirectory } from '../support/run.ts';
import { type Service, service } from '../support/service.ts';

const TERMINAL = { columns: 80, rows: 24 };

describe('a table that is longer than the terminal', () => {
  let it: Service;
  let file: string;

  beforeEach(async () => {
    it = await service();
    file = join(tempDirectory(), 'paged');
    await it.admin('POST', '/spaces', { count: 30, prefix: 'acme' });
  });

  const list = (args: readonly string[], pager: string | undefined, more: RunOptions = {}) =>
    run(['spaces', 'list', '--color', 'never', ...args], {
      ...TERMINAL,
      ...more,
      env: { PATH: process.env.PATH, ...it.env, PAGER: pager, ...more.env },
    });

  const paged = () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);

  test('is piped to PAGER', async () => {
    const ran = await list([], `sh -c 'printf "%s " "$LESS" > ${file}; cat >> ${file}'`);
    expect(ran).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(paged()).toMatch(/^FRX SPACE +EXTERNAL ID +NAME +ORG-WIDE\n(.+\n){30}$/);
  });

  test('is written directly if nobody can page it, or it fits', async () => {
    for (const [args, more] of [
      [['--no-input'], {}],
      [[], { env: { CI: 'true' } }],
      [['-o', 'table'], { columns: undefined }],
      [['-o', 'json'], {}],
      [[], { rows: 40 }],
      [[], { env: { PAGER: 'cat' } }],
      [[], { env: { PATH: '/nowhere', PAGER: undefined } }],
      [[], { env: { PAGER: '/nowhere/more -x' } }],
    ] as const) {
      const ran = await list(args, `cat > ${file}`, more);
      expect({ args, more, code: ran.code }).toEqual({ args, more, code: 0 });
      expect(ran.stdout).toContain('acme-30');
      expect(paged()).toBeUndefined();
    }
  });

  test('goes to a pager that the user may quit early, without an error and before the program ends', async () => {
    await it.admin('POST', '/spaces', { count: 1_500, prefix: 'more' });
    const ran = await list([], `head -n 1 > ${file}; sleep 0.2; echo done >> ${file}`);
    expect(ran).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(paged()).toMatch(/^SPACE.*\ndone\n$/);
  });
});

test('A help topic that is longer than the terminal is piped to PAGER, and the help of a command is not', async () => {
  const file = join(tempDirectory(), 'paged');
  const env = { PATH: process.env.PATH, PAGER: `cat > ${file}` };
  expect(await run(['help', 'state'], { ...TERMINAL, env })).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect(readFileSync(file, 'utf8')).toContain('The state');
  const help = await run(['chat', 'tail', '--help'], { ...TERMINAL, env });
  expect(help.stdout).toContain('--from-start');
});
