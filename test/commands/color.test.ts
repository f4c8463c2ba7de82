import { describe, expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

const LIST = ['spaces', 'list', '-o', 'table'];

describe('a table is colored', () => {
  test.each([
    ['a pipe', {}, [], false],
    ['a pipe', { FORCE_COLOR: '1' }, [], true],
    ['a pipe', { NO_COLOR: '1' }, ['--color', 'always'], true],
    ['a pipe', { FORCE_COLOR: '1' }, ['--color', 'never'], false],
    ['a terminal', { NO_COLOR: '' }, [], true],
    ['a terminal', { NO_COLOR: '1' }, [], false],
    ['a terminal', { TERM: 'dumb' }, [], false],
    ['a terminal', { NO_COLOR: '1', FORCE_COLOR: '1' }, [], false],
  ] as const)('in %s with %j and %j: %j', async (place, variables, flags, isColored) => {
    const it = await service();
    await it.admin('POST', '/spaces', { count: 1 });
    const columns = place === 'a terminal' ? 100 : undefined;
    const ran = await run([...LIST, ...flags], { env: { ...it.env, ...variables }, columns });
    expect(ran.code).toBe(0);
    expect(ran.stdout.includes('\u001b[')).toBe(isColored);
  });
});

test('a process without a terminal gets no questions, spinners, or colors', async () => {
  const it = await service();
  await it.faults({ kind: 'delay', ms: 1_100 });
  expect(await run(LIST, { env: it.env })).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'There are no spaces that the token can access.\n',
  });
  const login = await run(['login', '--base-url', it.sandbox.baseUrl], { env: { HOME: it.env.HOME } });
  expect(login).toMatchObject({ code: 3, stdout: '' });
});
