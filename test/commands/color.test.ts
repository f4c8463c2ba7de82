import { expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { service } from '../support/service.ts';

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
