import { expect, it } from 'vitest';
import { argumentsOf, COMMAND_LINES, startScene } from '../support/command-lines.ts';
import { run } from '../support/run.ts';

it('The catalogue of command lines has every command of the help, and no other', async () => {
  const { commands } = (await run(['help', '-o', 'ndjson'])).json<{ commands: readonly { command: string }[] }>();
  const names = commands.map(({ command }) => command);
  const used = COMMAND_LINES.map(({ words }) => names.find((name) => `${words} `.startsWith(`${name} `)));
  expect(new Set(used)).toEqual(new Set(names));
});

it('Every line of the catalogue succeeds, and sends what it says', async () => {
  const shared = await startScene();
  for (const { words, sends, after, runs } of COMMAND_LINES) {
    if (runs !== undefined) continue;
    // A write changes what others find.
    const { things, env, forget, received, posts } = sends === 'writes' || after ? await startScene() : shared;
    if (after !== undefined) await run(argumentsOf(after, things), { env });
    await forget();
    const { code, stderr } = await run(argumentsOf(words, things), { env });
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: expect.not.stringContaining('error:') });
    const writes = (await posts()).length > 0 ? 'writes' : 'reads';
    expect([words, (await received()).length > 0 ? writes : 'nothing']).toEqual([words, sends]);
  }
});
