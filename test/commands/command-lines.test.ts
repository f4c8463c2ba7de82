import { expect, it } from 'vitest';
import { argumentsOf, COMMAND_LINES, startScene } from '../support/command-lines.ts';
import { readHelp } from '../support/help.ts';
import { run } from '../support/run.ts';

const { commands } = await readHelp();

/** The command of a line. */
const commandOf = (words: string) => commands.find(({ command }) => `${words} `.startsWith(`${command} `));

/** What the sandbox calls the scopes that the specification describes and does not name (spec §5.3). */
const UNNAMED: Readonly<Record<string, readonly string[]>> = {
  'the one for provisioning': ['spaces.provision'],
  'the one for API chat setup': ['api_chat.setup'],
  'the one for API chat runtime': ['api_chat.runtime'],
  'the one for uploads': ['documents.write', 'file_attachments.write'],
  'the one for listing scheduled jobs': ['cron_jobs.read'],
};

/** These read as much as the token may, or what the user asks for. */
const OF_ANY_SCOPE = ['login', 'whoami', 'doctor', 'api'];

it('The catalogue of command lines has every command of the help, and no other', () => {
  expect(new Set(COMMAND_LINES.map(({ words }) => commandOf(words)))).toEqual(new Set(commands));
});

it('Every line of the catalogue succeeds with no other scopes than its command declares, and sends what it says', async () => {
  const shared = await startScene();
  for (const { words, sends, after, runs } of COMMAND_LINES) {
    if (runs !== undefined) continue;
    // A write changes what others find.
    const { things, env, createToken, forget, received, posts } =
      sends === 'writes' || after ? await startScene() : shared;
    if (after !== undefined) await run(argumentsOf(after, things), { env });
    await forget();
    const { command = '', scopes: declared = [] } = commandOf(words) ?? {};
    const scopes = declared.flatMap((scope) => UNNAMED[scope] ?? scope);
    const access = OF_ANY_SCOPE.includes(command) ? {} : { PARTNER_TOKEN: await createToken({ scopes }) };
    const { code, stderr } = await run(argumentsOf(words, things), { env: { ...env, ...access } });
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: expect.not.stringContaining('error:') });
    const writes = (await posts()).length > 0 ? 'writes' : 'reads';
    expect([words, (await received()).length > 0 ? writes : 'nothing']).toEqual([words, sends]);
  }
});
