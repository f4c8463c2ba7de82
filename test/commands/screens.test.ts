import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { fastClock, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { PROVISION, provisionBody, type Service, service } from '../support/service.ts';

/*
 * The output in a terminal of 80 columns. Look at each screen before you accept a change of its snapshot: the
 * important parts must be visible.
 */

const NOW = Date.UTC(2026, 0, 5, 10, 20, 50);

interface Scene extends Service {
  readonly directory: string;
  /** The terminal output of a command line. */
  screen(args: readonly string[], now?: number): Promise<string>;
}

/** Replaces random parts by zeros of the same width. */
function withoutRandom(text: string): string {
  return text
    .replace(/\b(spc|agt|cron|src|att|fil|doc|msg)_[0-9a-f…]+/g, (id) => id.replace(/(?<=_.*)[0-9a-f]/g, '0'))
    .replace(/\b[0-9a-f]{4,}…[0-9a-f]{4,}\b|\b[0-9a-f]{24,}\b/g, (hash) => hash.replace(/[0-9a-f]/g, '0'));
}

async function openScene(sandboxNow = (): number => NOW): Promise<Scene> {
  const opened = await service({ now: sandboxNow });
  const directory = tempDirectory();
  const env = { ...opened.env, PARTNER_STATE: join(directory, 'state.jsonl') };
  return {
    ...opened,
    directory,
    async screen(args, now = NOW) {
      const before = process.cwd();
      // Paths are shown as they are typed.
      process.chdir(directory);
      const options = { env, columns: 80, clock: fastClock(now), random: tinyRandom };
      const ran = await run([...args, '--color', 'never'], options).finally(() => process.chdir(before));
      // Only text that people copy in full, such as URLs, may be wider.
      const lines = ran.stdout.split('\n').filter((line) => line.trim().includes(' '));
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
      return `${withoutRandom(ran.stdout)}${withoutRandom(ran.stderr)}exit ${ran.code}\n`;
    },
  };
}

/** A tail of several sessions: the messages in the order of their times, as they are within a session. */
function byTime(screen: string): string {
  const [, messages = '', end = ''] = /^(.*)(exit \d+\n)$/s.exec(screen) ?? [];
  return (
    messages
      .split(/^(?=\d{4}-)/m)
      .toSorted()
      .join('') + end
  );
}

async function expectScreen(name: string, shown: string): Promise<void> {
  await expect(shown).toMatchFileSnapshot(`screens/${name}.txt`);
}

const CUSTOMERS = ['Acme', 'Initech Deutschland GmbH & Co. KG', 'Stark Industries'];

const JOBS = [
  ['Morning report', '0 9 * * 1-5', 'Europe/Berlin'],
  ['Weekly summary for the management board', '30 7 * * 1', 'America/New_York'],
  ['escalations', '*/10 8-18 * * *', 'UTC'],
  ['東京のレポート', '0 9 * * 1-5', 'Asia/Tokyo'],
] as const;

async function createAgent({ partner }: Service): Promise<string> {
  const { json } = await partner('POST', PROVISION, { body: provisionBody('acme-001') });
  return json.agents[0].agent_id;
}

test('A list of spaces', async () => {
  const scene = await openScene();
  for (const [index, name] of CUSTOMERS.entries()) {
    const description = 'Handed over by the Berlin office in March; invoices go to Vienna.';
    const space = { name, description: index === 1 ? description : undefined };
    await scene.partner('POST', PROVISION, { body: provisionBody(`customer-00${index}-production`, { space }) });
  }
  await expectScreen('spaces-list', await scene.screen(['spaces', 'list']));
});

test('Jobs of a file, and their list', async () => {
  const scene = await openScene();
  const agent = await createAgent(scene);
  const jobs = JOBS.map(
    ([name, schedule, timezone]) =>
      `  - { agent: ${agent}, name: ${name}, instructions: Report., schedule: '${schedule}', timezone: ${timezone} }\n`,
  );
  writeFileSync(join(scene.directory, 'jobs.yaml'), `jobs:\n${jobs.join('')}`);
  await expectScreen('cron-create', await scene.screen(['cron', 'create', '-f', 'jobs.yaml']));
  await expectScreen('cron-list', await scene.screen(['cron', 'list']));
});

test('Two conversations in a tail, and in the list of all conversations, where another source has the same name', async () => {
  let now = NOW - 7_200_000;
  const scene = await openScene(() => now);
  const [support, billing] = [await createChat(scene), await createChat(scene, 'agent_inbox', { name: 'Billing' })];
  const say = async ({ source_id }: typeof support, session_id: string, role: string, text: string) => {
    await scene.admin('POST', '/messages', { source_id, session_id, role, text });
    now += 11 * 60_000;
  };
  const invoice =
    'My invoice of December is wrong: it lists two seats, but we have had only one since the middle of November.';
  const apology =
    'I am sorry about that. I looked at the account:\n- November: two seats until the 14th, one since then.\n- December: two seats were billed by mistake.\n\nSee https://status.example.com/incidents/2026/01/05/invoices-of-december-list-removed-seats-as-active-ones for the cause.';
  await say(support, 'whatsapp-4915112345678', 'user', 'Is the museum open on Monday?');
  await say(support, 'whatsapp-4915112345678', 'assistant', apology);
  await say(support, 'ticket-42', 'user', invoice);
  await say(billing, 'ticket-42', 'user', 'Please correct the invoice of December for ticket 42.');
  await say(billing, '3f2a8c1e-77d4-4b5e-9a60-0c1d2e3f4a5b', 'user', 'Hello?');
  now = NOW;
  const tail = ({ source_id }: typeof support, ...sessions: string[]) => {
    const named = sessions.flatMap((session) => ['--session', session]);
    return scene.screen(['chat', 'tail', '--source', source_id, ...named, '--no-follow', '--timestamps']);
  };
  await expectScreen('chat-tail', byTime(await tail(support, 'ticket-42', 'whatsapp-4915112345678')));
  await tail(billing, 'ticket-42', '3f2a8c1e-77d4-4b5e-9a60-0c1d2e3f4a5b');
  await expectScreen('chat-watch', await scene.screen(['chat', 'watch', '--no-follow']));
});
