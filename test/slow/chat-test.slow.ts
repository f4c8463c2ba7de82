import { expect, test } from 'vitest';
import { MESSAGE } from '../support/chat.ts';
import { start } from '../support/program.ts';
import { run } from '../support/run.ts';
import { manifest, service as startService, write } from '../support/service.ts';

/** How long an agent takes. */
const DELAY_MS = 5_000;
const SPACES = 8;

const SCRIPT = [
  { pattern: 'wrong', replies: [{ text: 'No idea.', delay_ms: DELAY_MS }] },
  { pattern: 'late', replies: [{ text: 'Done.', delay_ms: DELAY_MS + 3_000 }] },
  { pattern: 'silent', replies: [] },
  {
    pattern: 'twice',
    replies: [
      { text: 'Done.', delay_ms: DELAY_MS },
      { text: 'Done.', delay_ms: 50 },
    ],
  },
  { pattern: '.', replies: [{ text: 'Done.', delay_ms: DELAY_MS }] },
];

/** What an agent is asked, and the outcome. */
const PLANTED = {
  good: 'passed',
  fine: 'passed',
  wrong: 'failed',
  twice: 'failed',
  late: 'no_reply',
  silent: 'no_reply',
};

async function startFleet() {
  const service = await startService();
  const ids = Array.from({ length: SPACES }, (_, index) => `customer-${index}`);
  const withChat = (id: string): string => manifest(id).replace('"Support" }', '"Support", chat: {} }');
  const fleet = write('fleet.yaml', ids.map(withChat).join('---\n'));
  expect((await run(['provision', fleet], { env: service.env })).code).toBe(0);
  expect((await service.admin('PUT', '/script', { rules: SCRIPT })).status).toBe(200);
  const talk = (name: string): string =>
    `name: ${name}\nturns:\n  - say: ${name}\n    within: ${DELAY_MS / 1000 + 2}s\n    expect: [{ contains: done }]\n`;
  const command = (names: readonly string[]): string[] => {
    const tests = write('talk.yaml', names.map(talk).join('---\n'));
    return ['chat', 'test', tests, '--agent', 'name:Support', '--manifests', fleet, '-o', 'json'];
  };
  return { service, ids, command };
}

interface Report {
  readonly results: readonly { test: string; external_space_id: string; status: string; session_id: string }[];
}

test('Each planted fault has its outcome with every customer, and no other conversation is touched by it', async () => {
  const { service, ids, command } = await startFleet();
  await service.faults({ kind: 'status', status: 503, on: `POST ${MESSAGE}`, rate: 0.1 });
  const ran = await run(command(Object.keys(PLANTED)), { env: service.env });
  expect(ran.code, ran.stderr).toBe(14);
  const { results } = ran.json<Report>();
  expect(results.map(({ external_space_id: id, test: name, status }) => [id, name, status])).toEqual(
    ids.flatMap((id) => Object.entries(PLANTED).map(([name, status]) => [id, name, status])),
  );
});

test('A run that was killed and repeated holds its conversations in new sessions', async () => {
  const { service, command } = await startFleet();
  const child = start(command(['good']), { env: service.env });
  const sent = async () => (await service.received()).filter(({ path }) => path.endsWith(MESSAGE));
  await expect.poll(async () => (await sent()).length).toBeGreaterThan(0);
  child.kill('SIGKILL');
  await child;
  const before = new Set((await sent()).map(({ body }) => (body as { session_id: string }).session_id));
  const ran = await run(command(['good']), { env: service.env });
  expect(ran.code, ran.stderr).toBe(0);
  for (const { session_id } of ran.json<Report>().results) expect(before.has(session_id)).toBe(false);
});
