import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { fastClock, type RunOptions, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { PROVISION, provisionBody, type Service, service } from '../support/service.ts';

/*
 * The output in terminals of 80 and 120 columns. Look at each screen before you accept a change of its snapshot: the important
 * parts must be visible.
 */

const NOW = Date.UTC(2026, 0, 5, 10, 20, 50);
const WIDTHS = [80, 120];

interface Scene extends Service {
  readonly state: string;
  readonly directory: string;
  /** The terminal output of a command line at some width. */
  screen(args: readonly string[], columns: number, options?: RunOptions): Promise<string>;
}

/** Replaces random parts by zeros of the same width. */
function withoutRandom(text: string): string {
  return text
    .replace(/\b(spc|agt|cron|src|att|fil|doc|msg)_[0-9a-f…]+/g, (id) => id.replace(/(?<=_.*)[0-9a-f]/g, '0'))
    .replace(/\b[0-9a-f]{4,}…[0-9a-f]{4,}\b|\b[0-9a-f]{24,}\b/g, (hash) => hash.replace(/[0-9a-f]/g, '0'))
    .replace(/\breq-[\w-]+/g, 'req-1');
}

async function openScene(sandboxNow = (): number => NOW): Promise<Scene> {
  const it = await service({ now: sandboxNow });
  const directory = tempDirectory();
  const state = join(directory, 'state.jsonl');
  return {
    ...it,
    directory,
    state,
    async screen(args, columns, options = {}) {
      const env = { ...it.env, PARTNER_STATE: state, ...options.env };
      const clock = fastClock(NOW);
      const before = process.cwd();
      // Paths are shown as they are typed.
      process.chdir(directory);
      const ran = await run([...args, '--color', 'never'], {
        random: tinyRandom,
        clock,
        columns,
        ...options,
        env,
      }).finally(() => process.chdir(before));
      // Only text that people copy in full, such as URLs, may be wider.
      const lines = ran.stdout.split('\n').filter((line) => line.trim().includes(' '));
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
      return `${withoutRandom(ran.stdout)}${withoutRandom(ran.stderr)}exit ${ran.code}\n`;
    },
  };
}

/** Shows the same at each width. */
async function atEachWidth(name: string, show: (columns: number) => Promise<string>): Promise<void> {
  const screens: string[] = [];
  for (const columns of WIDTHS) screens.push(`${'─'.repeat(columns)}\n${await show(columns)}`);
  await expect(screens.join('\n')).toMatchFileSnapshot(`screens/${name}.txt`);
}

const CUSTOMERS = ['Acme', 'Globex Corporation', 'Initech Deutschland GmbH & Co. KG', 'Umbrella', 'Stark Industries'];

const JOBS = [
  ['Morning report', '0 9 * * 1-5', 'Europe/Berlin'],
  ['Weekly summary for the management board', '30 7 * * 1', 'America/New_York'],
  ['escalations', '*/10 8-18 * * *', 'UTC'],
  ['Invoice reminders', '0 6 * * *', 'Asia/Tokyo'],
  ['nightly-sync-of-open-tickets-with-the-crm', '15 2 * * *', 'UTC'],
  ['Churn check', '0 12 * * 3', 'Europe/London'],
  ['Birthday greetings', '0 8 * * *', 'Europe/Berlin'],
  ['Satisfaction survey', '0 10 * * 5', 'UTC'],
  ['東京のレポート', '0 9 * * 1-5', 'Asia/Tokyo'],
] as const;

function writeJobs(directory: string, agent: string): string {
  const jobs = JOBS.map(
    ([name, schedule, timezone]) =>
      `  - { agent: ${agent}, name: ${JSON.stringify(name)}, instructions: Report., schedule: ${JSON.stringify(schedule)}, timezone: ${timezone} }\n`,
  );
  const path = join(directory, 'jobs.yaml');
  writeFileSync(path, `jobs:\n${jobs.join('')}`);
  return path;
}

async function createAgent({ partner }: Service): Promise<string> {
  const { json } = await partner('POST', PROVISION, { body: provisionBody('acme-001') });
  return json.agents[0].agent_id;
}

describe('terminals of 80 and 120 columns show', () => {
  test('spaces list', async () => {
    const scene = await openScene();
    for (const [index, name] of CUSTOMERS.entries()) {
      const space = {
        name,
        description: index === 2 ? 'Handed over by the Berlin office in March; invoices go to Vienna.' : undefined,
      };
      await scene.partner('POST', PROVISION, { body: provisionBody(`customer-00${index}-production`, { space }) });
    }
    await atEachWidth('spaces-list', (columns) => scene.screen(['spaces', 'list'], columns));
  });

  test('agents list', async () => {
    const scene = await openScene();
    const names = ['Support', 'Onboarding and training of new colleagues', 'Billing', 'Sales (EMEA)'];
    const templates = ['support', 'onboarding', 'billing', 'sales'];
    const agents = names.map((name, index) => ({ template_id: `tmpl_${templates[index]}`, name }));
    await scene.partner('POST', PROVISION, { body: provisionBody('acme-001', { agents }) });
    await atEachWidth('agents-list', (columns) => scene.screen(['agents', 'list', 'ext:acme-001'], columns));
  });

  test('cron list with nine jobs', async () => {
    const scene = await openScene();
    const path = writeJobs(scene.directory, await createAgent(scene));
    await atEachWidth('cron-create-dry-run', (columns) =>
      scene.screen(['cron', 'create', '-f', path, '--dry-run'], columns),
    );
    await atEachWidth('cron-create', (columns) => scene.screen(['cron', 'create', '-f', path, '--ensure'], columns));
    await atEachWidth('cron-list', (columns) => scene.screen(['cron', 'list'], columns));
  });

  test('an upload of fourteen files, and its repeat', async () => {
    const scene = await openScene();
    const folder = join(scene.directory, 'uploads');
    mkdirSync(join(folder, 'contracts', 'signed'), { recursive: true });
    for (let number = 1; number <= 14; number += 1) {
      const place = number % 3 === 0 ? 'contracts/signed' : number % 3 === 1 ? 'contracts' : '.';
      writeFileSync(join(folder, place, `Agreement ${number} with Acme.pdf`), 'x'.repeat(number ** 5));
    }
    await atEachWidth('upload', (columns) => scene.screen(['upload', 'uploads', '--recursive'], columns));
  });

  test('contract show', async () => {
    const scene = await openScene();
    await atEachWidth('contract-show', (columns) => scene.screen(['contract', 'show', 'messages'], columns));
  });

  test('state show', async () => {
    const scene = await openScene();
    const agent = await createAgent(scene);
    for (const [name, schedule] of JOBS.slice(0, 3)) {
      const job = ['--agent', agent, '--name', name, '--instructions', 'Report.', '--schedule', schedule];
      await scene.screen(['cron', 'create', ...job], 80, { clock: fastClock(NOW - 7_500_000) });
    }
    // The column is as wide as the name of the machine.
    const by = `${userInfo().username}@${hostname()}`;
    const withoutMachine = (text: string) =>
      text.replaceAll(by, 'ada@laptop'.padEnd(by.length)).replaceAll(/ +$/gm, '');
    await atEachWidth('state-show', async (columns) => withoutMachine(await scene.screen(['state', 'show'], columns)));
  });

  test('a tail of two conversations', async () => {
    const scene = await openScene();
    const chat = await createChat(scene);
    const say = (session_id: string, role: string, text: string) =>
      scene.admin('POST', '/messages', { source_id: chat.source_id, session_id, role, text });
    await say(
      'anna',
      'user',
      'My invoice of December is wrong: it lists two seats, but we have had only one since the middle of November. Can you check?',
    );
    await say('ben', 'user', 'Hi!');
    await say(
      'anna',
      'assistant',
      'I am sorry about that. I looked at the account:\n- November: two seats until the 14th, one since then.\n- December: two seats were billed by mistake. I have asked billing to send a corrected invoice to the address that we have on file for you.\n\nSee https://status.example.com/incidents/2026/01/05/invoices-of-december-list-removed-seats-as-active-ones for the cause.',
    );
    await say(
      'ben',
      'assistant',
      'Hello Ben, how can I help you today? You can ask me about your orders, invoices, and deliveries.',
    );
    const sessions = ['--session', 'anna', '--session', 'ben'];
    await atEachWidth('chat-tail', (columns) =>
      scene.screen(['chat', 'tail', '--source', chat.source_id, ...sessions, '--no-follow', '--timestamps'], columns),
    );
  });

  test('conversations with the same name in two sources', async () => {
    let now = NOW - 7_200_000;
    const scene = await openScene(() => now);
    const [support, billing] = [await createChat(scene), await createChat(scene, 'agent_inbox', { name: 'Billing' })];
    const say = async (source_id: string, session_id: string, role: string, text: string) => {
      await scene.admin('POST', '/messages', { source_id, session_id, role, text });
      now += 11 * 60_000;
    };
    await say(support.source_id, 'whatsapp-4915112345678', 'user', 'Is the museum open on Monday?');
    await say(
      support.source_id,
      'whatsapp-4915112345678',
      'assistant',
      'No, it is closed on Mondays.\nSee you on Tuesday!',
    );
    await say(
      support.source_id,
      'ticket-42',
      'user',
      'My invoice of December is wrong: it lists two seats, but we have had only one since the middle of November.',
    );
    await say(billing.source_id, 'ticket-42', 'user', 'Please correct the invoice of December for ticket 42.');
    await say(billing.source_id, 'ticket-42', 'assistant', 'A corrected invoice is on its way to the address on file.');
    await say(billing.source_id, '3f2a8c1e-77d4-4b5e-9a60-0c1d2e3f4a5b', 'user', 'Hello?');
    now = NOW;
    for (const [source, ...sessions] of [
      [support.source_id, 'ticket-42', 'whatsapp-4915112345678'],
      [billing.source_id, 'ticket-42', '3f2a8c1e-77d4-4b5e-9a60-0c1d2e3f4a5b'],
    ]) {
      const named = sessions.flatMap((session) => ['--session', session]);
      await scene.screen(['chat', 'tail', '--source', source ?? '', ...named, '--no-follow'], 80);
    }
    await atEachWidth('chat-watch', (columns) => scene.screen(['chat', 'watch', '--no-follow'], columns));
  });
});
