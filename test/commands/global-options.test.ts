import { expect, onTestFinished, test, vi } from 'vitest';
import { Program } from '../../src/cli/command.ts';
import { readHelp } from '../support/help.ts';
import { fastClock, run } from '../support/run.ts';
import { service } from '../support/service.ts';

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
