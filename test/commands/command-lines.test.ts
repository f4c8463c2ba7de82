import { expect, it } from 'vitest';
import { argumentsOf, COMMAND_LINES, startScene } from '../support/command-lines.ts';
import { run } from '../support/run.ts';

it('The catalogue of command lines has every command of the help, and no other', async () => {
  const { commands } = (await run(['help', '-o', 'ndjson'])).json<{ commands: readonly { command: string }[] }>();
  const names = commands.map(({ command }) => command);
  const used = COMMAND_LINES.map(({ words }) => names.find((name) => `${words} `.startsWith(`${name} `)));
  expect(new Set(used)).toEqual(new Set(names));
});

const LINES = COMMAND_LINES.filter(({ runs }) => runs === undefined).map((line) => [line.words, line] as const);

it.each(LINES)('`partnerctl %s` succeeds, and sends what the catalogue says', async (words, { sends, after }) => {
  const { things, env, forget, received, posts } = await startScene();
  if (after !== undefined) await run(argumentsOf(after, things), { env });
  await forget();
  const { code, stderr } = await run(argumentsOf(words, things), { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('error:') });
  const writes = (await posts()).length > 0 ? 'writes' : 'reads';
  expect((await received()).length > 0 ? writes : 'nothing').toBe(sends);
});
