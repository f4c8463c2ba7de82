import { expect, it } from 'vitest';
import { argumentsOf, COMMAND_LINES, type CommandLine, startScene } from '../support/command-lines.ts';
import { readHelp } from '../support/help.ts';
import { createProfileHome } from '../support/profile-home.ts';
import { type Ran, run, tempDirectory } from '../support/run.ts';

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

type Scene = Awaited<ReturnType<typeof startScene>>;

/** Runs what must have run before a line. @returns its arguments, and a token with the scopes that its command declares */
async function prepare({ things, env, token, createToken, forget }: Scene, { words, after }: CommandLine) {
  if (after !== undefined) await run(argumentsOf(after, things), { env });
  const { command = '', scopes: declared = [] } = commandOf(words) ?? {};
  const scopes = declared.flatMap((scope) => UNNAMED[scope] ?? scope);
  const limited = OF_ANY_SCOPE.includes(command) ? token : await createToken({ scopes });
  await forget();
  return { args: argumentsOf(words, things), token: limited };
}

async function expectSent({ received, posts }: Scene, { words, sends }: CommandLine, { code, stderr }: Ran) {
  expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: expect.not.stringContaining('error:') });
  const writes = (await posts()).length > 0 ? 'writes' : 'reads';
  expect([words, (await received()).length > 0 ? writes : 'nothing']).toEqual([words, sends]);
}

const WRITES = COMMAND_LINES.filter(({ sends }) => sends === 'writes');

it('The catalogue of command lines has every command of the help, and no other', () => {
  expect(new Set(COMMAND_LINES.map(({ words }) => commandOf(words)))).toEqual(new Set(commands));
});

it('Exactly the commands that write have --confirm, and login, which replaces a token', () => {
  const writing = new Set(WRITES.map(({ words }) => commandOf(words)?.command));
  const confirmed = commands.filter(({ writes }) => writes).map(({ command }) => command);
  expect(confirmed).toEqual(
    commands.map(({ command }) => command).filter((each) => each === 'login' || writing.has(each)),
  );
});

it('A line that only reads succeeds with no other scopes than its command declares, and sends what it says', async () => {
  const shared = await startScene();
  for (const line of COMMAND_LINES.filter(({ sends, runs }) => sends !== 'writes' && runs === undefined)) {
    const scene = { ...shared, env: { ...shared.env, HOME: tempDirectory() } };
    const { args, token } = await prepare(scene, line);
    await expectSent(scene, line, await run(args, { env: { ...scene.env, PARTNER_TOKEN: token } }));
  }
});

it('A line that writes is sent through a protected profile only with --confirm and its name, and needs no other scopes', async () => {
  for (const line of WRITES) {
    // A write changes what others find.
    const scene = await startScene();
    const { args, token } = await prepare(scene, line);
    const home = createProfileHome();
    home.store('live', scene.sandbox.baseUrl, token, { protected: true });
    const env = { ...home.env, PARTNER_STATE: scene.env.PARTNER_STATE };
    const refused = await run(args, { env });
    expect(refused, line.words).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr, line.words).toMatch(
      `error: Profile "live" is protected, and this command is about to write to ${scene.sandbox.baseUrl}.\n  Nothing was sent.\nhint: To confirm this, add --confirm live\n`,
    );
    const other = await run([...args, '--confirm', 'test'], { env });
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('but the command uses profile "live"') });
    expect(await scene.received(), line.words).toEqual([]);
    const confirmed = await run([...args, '--confirm', 'live'], { env });
    if (line.runs === 'in a terminal') expect(confirmed.stderr).toContain('terminal');
    else await expectSent(scene, line, confirmed);
  }
});
