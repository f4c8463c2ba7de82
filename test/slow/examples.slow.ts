import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CRON_JOBS, jobBody, jobFlags } from '../support/cron.ts';
import { readHelp } from '../support/help.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { launcher } from '../support/program.ts';
import { manualSignals, run, tempDirectory } from '../support/run.ts';
import { call, manifest, service as startService } from '../support/service.ts';
import { bareRepository } from '../support/stores.ts';
import { hasTmux, inTmux } from '../support/tmux.ts';
import { deliver, SECRET, startListening, startReceiver } from '../support/webhooks.ts';

/* The examples in the help of all commands, one after the other, as a user of a sandbox runs them. */

/** Those that run until Ctrl-C. They are interrupted at their first output. */
const ENDLESS = /^partnerctl (chat tail (?!.*--no-follow)|chat watch (?!--no-follow)|webhook listen|sandbox start)/;

/** Those whose exit code is not 0, because that is what they show. */
const EXITS: Readonly<Record<string, number>> = { 'partnerctl plan customers/ --unmanaged --detailed-exitcode': 12 };

const CONVERSATION = 'turns: [{ say: Hello, expect: [{ contains: Hello }] }]\n';

/** A manifest of an agent with a chat. */
const withChat = (id: string): string => manifest(id).replace('"Support" }', '"Support", chat: {} }');

const FILES: Readonly<Record<string, string>> = {
  'acme.yaml': withChat('acme-001').replace('Space acme-001', 'Acme'),
  'customers/acme-002.yaml': withChat('acme-002'),
  'customers/other.yaml': withChat('other'),
  'customers.yaml': withChat('many-${REGION}'),
  'customers.csv': 'external_space_id\nrow-1\nrow-2\n',
  'support.yaml': withChat('${external_space_id}'),
  'prod.yaml': 'REGION: eu\n',
  'jobs.yaml':
    'agent: name:Support\nspace: ext:acme-001\njobs: [{ name: hourly, instructions: Look., schedule: "0 * * * *", timezone: UTC }]\n',
  'rows.ndjson': '{"session_id": "ben", "text": "Hi"}\n',
  'tests/hello.yaml': CONVERSATION,
  'smoke.yaml': CONVERSATION,
  'weekly.md': 'Sum up the week.\n',
  'report.pdf': '%PDF-1.7',
  'acme.sql': 'select 1;',
  'manuals/a.md': 'A',
  'manuals/drafts/b.md': 'B',
  'hook.key': SECRET,
};

/** Splits an example like a shell: removes quotes and redirections. */
function splitExample(line: string): string[] {
  const words = [...line.replace(/ [<>] \S+/g, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)];
  return words.map(([, single, double, bare]) => single ?? double ?? bare ?? '').slice(1);
}

/** A directory and a service that have what the examples name. */
async function startWorld() {
  const directory = tempDirectory();
  const write = (name: string, text: string, mode?: number): void => {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text, { mode });
  };
  for (const [name, text] of Object.entries(FILES)) write(name, text);
  const here = process.cwd();
  process.chdir(directory);
  onTestFinished(() => process.chdir(here));
  vi.stubEnv('PATH', `${await launcher(directory)}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const receiver = await startReceiver();
  const service = await startService({ webhook: { url: receiver.url, secret: SECRET } });
  const { adminUrl, adminKey, baseUrl } = service.sandbox;
  const env: Record<string, string> = {
    ...service.env,
    PATH: process.env.PATH ?? '',
    PARTNER_SANDBOX_URL: adminUrl,
    PARTNER_SANDBOX_KEY: adminKey,
    PARTNER_WEBHOOK_SECRET: SECRET,
  };
  const json = async <Shape>(code: number, ...argv: string[]): Promise<Shape> => {
    const ran = await run([...argv, '-o', 'json'], { env });
    expect(ran, ran.stderr).toMatchObject({ code });
    return ran.json<Shape>();
  };
  interface Made {
    readonly space_id: string;
    readonly agents: readonly [{ readonly agent_id: string; readonly source_id: string }];
  }
  const { space_id, agents } = await json<Made>(0, 'provision', 'acme.yaml', '--query', 'results[0]');
  const [{ agent_id, source_id }] = agents;
  const session = ['--source', source_id, '--session', 'anna'];
  const { message_id } = await json<{ message_id: string }>(0, 'chat', 'send', 'Hello!', ...session, '--wait');
  write('message.json', JSON.stringify({ source_id, session_id: 'anna', text: 'Hi', external_message_id: 'e1' }));
  write('bin/pass', `#!/bin/sh\necho ${service.token}\n`, 0o755);
  write('token.txt', service.token);
  for (const name of ['openapi.json', 'openapi.yaml']) {
    write(name, (await call('GET', `${baseUrl}/openapi.json`, { token: service.token })).text);
  }
  const makeJob = async (name: string): Promise<string> =>
    (await service.partner('POST', CRON_JOBS, { body: jobBody(agent_id, { name }) })).json.cron_job_id;
  /** Creates a job whose response is lost, and which no list shows. @returns its key and its id */
  const loseJob = async (name: string) => {
    await service.faults(
      { kind: 'reset', stage: 'after', on: `POST ${CRON_JOBS}`, times: 1 },
      { kind: 'status', status: 403, on: 'GET' },
    );
    const { key } = await json<{ key: string }>(9, 'cron', 'create', ...jobFlags(agent_id, name));
    await service.faults();
    const { cron_jobs } = (await service.admin('GET', '/cron-jobs')).json;
    return { key, id: cron_jobs.find((job: { readonly name: string }) => job.name === name).cron_job_id };
  };
  /** Words in examples, and what is meant here. */
  const words: Record<string, string> = {
    ...{ src_1: source_id, src_123: source_id, agt_1: agent_id, agt_456: agent_id, spc_123: space_id },
    ...{ msg_7: message_id, 'https://api.example.com/v1': baseUrl },
    ...{ 'http://localhost:3000/hooks': receiver.url, 'http://127.0.0.1:4000/hooks': receiver.url },
    'git+ssh://git@example.com/ops.git#partnerctl-state': `git+file://${bareRepository()}#partnerctl-state`,
  };
  /** What must have happened before an example. */
  const before: Readonly<Record<string, () => Promise<unknown>>> = {
    'cron adopt cron_1 --yes': async () => {
      words.cron_1 = await makeJob('listed');
    },
    'cron adopt cron_1 --key': async () => {
      const { id, key } = await loseJob('lost');
      Object.assign(words, { cron_1: id, '4a51c2d9e0b37f6688a1d2c4': key });
    },
    'cron adopt cron_1 --agent': () => service.faults({ kind: 'status', status: 403, on: `GET ${CRON_JOBS}` }),
    'cron adopt cron_2': async () => {
      words.cron_2 = await makeJob('report');
    },
    'cron forget cron_2136f0a4': async () => {
      await service.faults();
      const { cron_job_id } = await json<{ cron_job_id: string }>(0, 'cron', 'create', ...jobFlags(agent_id, 'gone'));
      await service.admin('DELETE', `/cron-jobs/${cron_job_id}`);
      words.cron_2136f0a4 = cron_job_id;
    },
    'cron forget 4a51c2d9e0b37f6688a1d2c4': async () => {
      const { key } = await json<{ key: string }>(0, 'cron', 'create', ...jobFlags(agent_id, 'again'));
      words['4a51c2d9e0b37f6688a1d2c4'] = key;
    },
    'state copy state.jsonl': async () => {
      const { path } = await json<{ path: string }>(0, 'state', 'path');
      copyFileSync(path, 'state.jsonl');
    },
    'webhook replay': async () => {
      const listening = await startListening(['--save', 'deliveries'], { env });
      await deliver(listening.url, 'd1', '{}');
      await listening.stop();
      const saved = readdirSync('deliveries').find((name) => name.endsWith('.json')) ?? '';
      words['./deliveries/20260105T0800*.json'] = join('deliveries', saved);
    },
  };
  return { env, words, before };
}

/** Starts a database, if PostgreSQL is installed. @returns its URL */
async function startDatabase(): Promise<string | undefined> {
  const programs = postgresPrograms();
  if (programs === undefined) return undefined;
  const { database, stop } = await startPostgres(programs);
  onTestFinished(stop);
  return database();
}

test('Every example of every command works as written, in the order of help', async () => {
  const { env, words, before } = await startWorld();
  const database = await startDatabase();
  const failed: string[] = [];
  for (const { examples } of (await readHelp()).commands) {
    for (const { command: line } of examples) {
      if (line.includes('postgres:') && !database) continue;
      const [, prepare] = Object.entries(before).find(([start]) => line.startsWith(`partnerctl ${start}`)) ?? [];
      await prepare?.();
      const argv = splitExample(line).map((word) => (word.startsWith('postgres:') ? database : words[word]) ?? word);
      if (argv[1] === 'open') {
        if (hasTmux) await (await inTmux(argv, env)).screen(/^› *$/m);
        continue;
      }
      // Each seed takes seconds.
      const seeds = argv.indexOf('--seeds');
      if (argv[1] === 'rehearse') argv.splice(seeds < 0 ? argv.length : seeds, seeds < 0 ? 0 : 2, '--seeds', '2');
      const [, input] = / < (\S+)/.exec(line) ?? [];
      const isEndless = ENDLESS.test(line);
      const signals = manualSignals();
      const end = isEndless ? signals.ctrlC : () => undefined;
      const ran = await run(argv, {
        // What is set in one contract example contradicts the service in the next one.
        env: argv[0] === 'contract' ? { ...env, HOME: tempDirectory() } : env,
        signals,
        stdin: input === undefined ? '' : readFileSync(input),
        onStdout: end,
        onStderr: end,
        // In a terminal, also what does not change is shown.
        columns: argv[1] === 'watch' ? 80 : undefined,
      });
      if (ran.code !== (EXITS[line] ?? 0)) failed.push(`${line}\nexit code ${ran.code}\n${ran.stderr}`);
    }
  }
  expect(failed.join('\n')).toBe('');
});
