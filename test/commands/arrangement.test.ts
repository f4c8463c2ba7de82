import { beforeEach, describe, expect, test } from 'vitest';
import { type RunOptions, run } from '../support/run.ts';
import { type Service, service } from '../support/service.ts';

describe('--columns and --sort', () => {
  let it: Service;

  beforeEach(async () => {
    it = await service();
    await it.admin('POST', '/spaces', { count: 12, prefix: 'acme' });
    await it.forget();
  });

  const list = (args: readonly string[], options: RunOptions = {}) =>
    run(['spaces', 'list', ...args], { ...options, env: { ...it.env, ...options.env } });

  test('choose the columns and the order of tables and tsv', async () => {
    const tsv = await list(['--columns', 'name,external-id', '--sort=-external-id']);
    expect(tsv.code).toBe(0);
    expect(tsv.stdout.split('\n').slice(0, 3)).toEqual(['acme 12\tacme-12', 'acme 11\tacme-11', 'acme 10\tacme-10']);
    const table = await list(['--columns', 'EXTERNAL ID, Org_Wide', '--sort', 'name', '--color', 'never'], {
      columns: 80,
    });
    expect(table.stdout).toMatch(/^EXTERNAL ID {2}ORG-WIDE\nacme-1 {7}no\nacme-2 {7}no\n/);
  });

  test('sort with a separate value that starts with a minus sign', async () => {
    expect((await list(['--sort', '-name'])).stdout).toMatch(/\tacme 12\t.*\n.*\tacme 11\t/);
  });

  test.each([
    [
      ['--columns', 'nmae'],
      '--columns: there is no column "nmae".',
      'Did you mean name? The columns are: space, external-id, name, description, org-wide.',
    ],
    [
      ['--sort', '-created'],
      '--sort: there is no column "created".',
      'The columns are: space, external-id, name, description, org-wide.',
    ],
    [['--columns', 'name,'], '--columns names no column.', 'Check the shell variable it comes from.'],
    [
      ['--columns', 'name', '-o', 'yaml'],
      '--columns applies to the formats table and tsv, not yaml.',
      'Select or sort fields with --query.',
    ],
    [
      ['--sort', 'name', '--query', '[0]'],
      '--sort and --query cannot be combined.',
      'The query can select and sort fields.',
    ],
    [['--sort', 'name', '--sort', 'space'], '--sort is given twice.', 'Give it once.'],
  ])('exit with 2 for %j, and nothing is sent', async (args, message, hint) => {
    const ran = await list(args);
    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toBe(`error: ${message}\nhint: ${hint}\n`);
    expect(await it.received()).toEqual([]);
  });

  test('are rejected by commands without columns', async () => {
    const ran = await run(['chat', 'tail', '--source', 's', '--session', 'a', '--columns', 'text'], { env: it.env });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('`chat tail` prints no table: omit --columns.');
  });

  test.each([
    ['plan acme.yaml', 'plan'],
    ['provision acme.yaml --dry-run', 'provision --dry-run'],
    ['provision --schema', 'provision --schema'],
    ['cron create --schema', 'cron create --schema'],
  ])('are rejected by `%s`, which prints no table, and nothing is sent', async (typed, name) => {
    for (const flag of ['columns', 'sort']) {
      const ran = await run([...typed.split(' '), `--${flag}`, 'name'], { env: it.env });
      expect(ran).toMatchObject({ code: 2, stdout: '' });
      expect(ran.stderr).toContain(`error: \`${name}\` prints no table: omit --${flag}.\n`);
    }
    expect(await it.received()).toEqual([]);
  });
});
