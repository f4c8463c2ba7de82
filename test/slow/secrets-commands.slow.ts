import { expect, test } from 'vitest';
import { run } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { createHome, SHAPES, testNoTokenLeak } from '../support/token-echo.ts';

// The sweep also tries every spelling of the token.
testNoTokenLeak((args, env) => run(args, { env }), SHAPES);

const JOB = ['--instructions', 'x', '--schedule', '@daily'];

test.each<[string, (token: string) => readonly string[]]>([
  ['an agent', (token) => ['cron', 'create', '--agent', token, '--name', 'daily', ...JOB]],
  ['a job', (token) => ['cron', 'create', '--agent', 'agt_1', '--name', `the ${token}`, ...JOB]],
  ['a space', (token) => ['provision', write('acme.yaml', manifest(token))]],
])('nothing is sent or written if the token is typed in place of %s', async (_, args) => {
  const { env, posts } = await service();
  const { PARTNER_TOKEN: token = '' } = env;
  const home = createHome();
  const ran = await run(args(token), { env: { ...env, ...home.env } });
  expect(ran).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: A secret would be written to the state/),
  });
  expect(home.files() + ran.stdout + ran.stderr).not.toContain(token);
  expect(await posts()).toEqual([]);
});

test.each([
  ['send', 'Hello'],
  ['tail', '--no-follow'],
])('chat %s writes a session that contains the token nowhere', async (verb, last) => {
  const { env } = await service();
  const { PARTNER_TOKEN: token = '' } = env;
  const home = createHome();
  const ran = await run(['chat', verb, '--source', 'src_1', '--session', token, last], {
    env: { ...env, ...home.env },
  });
  expect(home.files() + ran.stdout + ran.stderr).not.toContain(token);
});
