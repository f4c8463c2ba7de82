import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/platform/clock.ts';
import { type Handler, json, type Script, sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { type Service, service, write } from '../support/service.ts';
import { findClosedPort } from '../support/tcp-server.ts';
import { createProfileHome, storeProfile, TOKEN } from './profile-home.ts';

type Check = Readonly<Record<'name' | 'status' | 'message', string>> & { readonly hint: string | null };

interface Report {
  readonly checks: readonly Check[];
  readonly summary: Readonly<Record<string, number>>;
}

/** The environment, clock, and Node.js of a machine, which faults break and advice repairs. */
interface Machine {
  readonly env: Record<string, string>;
  readonly options: { clock?: Clock; nodeVersion?: string };
}

async function doctor(
  { env, options }: Machine,
  ...flags: readonly string[]
): Promise<{ code: number; report: Report; stderr: string }> {
  const args = ['doctor', '-o', 'json', ...flags];
  const ran = await run(args, { env, ...options });
  return { code: ran.code, report: ran.json(), stderr: ran.stderr };
}

function named({ checks }: Report, name: string): Check {
  const check = checks.find((each) => each.name === name);
  if (!check) throw new Error(`There is no check ${name}.`);
  return check;
}

/** A sandbox with a space and a profile for it, on a machine without problems. */
async function healthyMachine(): Promise<{ it: Service; machine: Machine; path: string }> {
  const it = await service();
  await it.admin('POST', '/spaces', { count: 2, prefix: 'acme' });
  const home = createProfileHome();
  await storeProfile(home, 'acme', it.sandbox.baseUrl, it.token);
  await it.forget();
  return {
    it,
    path: home.path,
    machine: { env: { ...home.env, PARTNER_STATE: join(home.config, 'state.jsonl') }, options: {} },
  };
}

/** Runs a command from the advice, as a shell would. */
async function shell(line: string, machine: Machine, stdin?: string): Promise<void> {
  const [command = ''] = line.split(' ');
  if (command !== 'partnerctl') return void (await execa(line, { shell: true }));
  const args = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const ran = await run(args.slice(1), { env: machine.env, ...(stdin !== undefined && { stdin }) });
  expect(ran).toMatchObject({ code: 0 });
}

interface Planted {
  readonly machine: Machine;
  /** Follows the advice. @param advice the part of the hint that the row looks for */
  follow(advice: string): unknown;
}

interface Fault {
  readonly fault: string;
  readonly check: string;
  /** The exit code; 0 for a warning. */
  readonly code: number;
  readonly message: RegExp;
  /** Matches the hint; its first group is the step to take. */
  readonly advice: RegExp;
  plant(): Promise<Planted>;
}

/** A machine for a service that is not the sandbox. */
async function machineFor(script: Script): Promise<{ machine: Machine }> {
  const { baseUrl } = await startFakeService(script);
  return { machine: { env: { HOME: tempDirectory(), PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: TOKEN }, options: {} } };
}

const html: Handler = (_, response) => response.setHeader('content-type', 'text/html').end('<h1>Welcome</h1>');

const FAULTS: readonly Fault[] = [
  {
    fault: 'a wrong address',
    check: 'connection',
    code: 8,
    message: /^Could not reach \S+\/v1: the connection was refused\.$/,
    advice: /unset (\w+)/,
    async plant() {
      const { machine, it } = await healthyMachine();
      machine.env.PARTNER_BASE_URL = `http://127.0.0.1:${await findClosedPort()}/v1`;
      machine.env.PARTNER_TOKEN = it.token;
      return { machine, follow: (variable) => delete machine.env[variable] };
    },
  },
  {
    fault: 'a clock that is ahead',
    check: 'clock',
    code: 0,
    message: /clock is 3 h ahead of/,
    advice: /set this machine's clock to (\S+)\./,
    async plant() {
      const { machine } = await healthyMachine();
      const ahead = (ms: number) => ({
        now: () => Date.now() + ms,
        monotonic: () => performance.now(),
        sleep: (_: number, signal?: AbortSignal) =>
          new Promise<void>((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
      });
      machine.options.clock = ahead(3 * 3_600_000);
      const setClock = (time: string) =>
        Object.assign(machine.options, { clock: ahead(Date.parse(time) - Date.now()) });
      return { machine, follow: setClock };
    },
  },
  {
    fault: 'a token that the service does not know',
    check: 'token',
    code: 3,
    message: /rejected the token from PARTNER_TOKEN \(401\)/,
    advice: /(unset it) to use profile "acme"/,
    async plant() {
      const { machine } = await healthyMachine();
      machine.env.PARTNER_TOKEN = TOKEN;
      return { machine, follow: () => delete machine.env.PARTNER_TOKEN };
    },
  },
  {
    fault: 'a token without a scope',
    check: 'scopes',
    code: 0,
    message: /spaces\.read \(for spaces list, plan, provision/,
    advice: /store it with: (partnerctl login .*)$/,
    async plant() {
      const { machine, it } = await healthyMachine();
      const lacking = await it.createToken({ scopes: ['cron_jobs.read'] });
      await shell('partnerctl login --profile acme --token-file -', machine, lacking);
      return { machine, follow: (line) => shell(line, machine, it.token) };
    },
  },
  {
    fault: 'a balance that is too low',
    check: 'balance',
    code: 6,
    message: /balance is too low \(402\)/,
    advice: /^(Top up the balance \(the minimum is 1 USD\))/,
    async plant() {
      const { machine, it } = await healthyMachine();
      await it.set({ balance_usd: 0.5 });
      return { machine, follow: () => it.set({ balance_usd: 1 }) };
    },
  },
  {
    fault: 'a damaged state',
    check: 'state',
    code: 1,
    message: /cannot be used: .*changed after it was written/,
    advice: /^List the lines with: (partnerctl state verify)\. Restore the line from a backup or from git\.$/,
    async plant() {
      const { machine } = await healthyMachine();
      const state = machine.env.PARTNER_STATE ?? '';
      await shell(`partnerctl upload ${write('notes.txt', 'some notes')}`, machine);
      const backup = readFileSync(state, 'utf8');
      writeFileSync(state, backup.replace('"type":"upload.created"', '"type":"upload.crxated"'));
      return { machine, follow: async () => writeFileSync(state, backup) };
    },
  },
  {
    fault: 'profiles that cannot be read',
    check: 'profiles',
    code: 2,
    message: /are damaged/,
    advice: /(mv \S+ \S+ && partnerctl login --base-url <url>)$/,
    async plant() {
      const { machine, path, it } = await healthyMachine();
      writeFileSync(path, '{"current": "acme", "profi');
      const follow = async (line: string) => {
        const [move = '', login = ''] = line.split(' && ');
        await shell(move, machine);
        await shell(login.replace('<url>', it.sandbox.baseUrl), machine, it.token);
      };
      return { machine, follow };
    },
  },
  {
    fault: 'an old Node.js',
    check: 'program',
    code: 1,
    message: /18\.19\.0 is older than 20\.18\.1/,
    advice: /Install Node\.js (\S+) or later/,
    async plant() {
      const { machine } = await healthyMachine();
      machine.options.nodeVersion = '18.19.0';
      return { machine, follow: (nodeVersion) => Object.assign(machine.options, { nodeVersion }) };
    },
  },
  {
    fault: 'an assumption that the service contradicts',
    check: 'contract',
    code: 8,
    message: /in several places: found, lost/,
    advice: /(partnerctl contract set spaces\.list\.items \S+)/,
    async plant() {
      const list = { found: [{ space_id: 's1', name: 'One' }], lost: [{ id: 'l1' }] };
      const { machine } = await machineFor({ 'GET /automation/spaces/': json(list), 'GET *': json([]) });
      return { machine, follow: (line) => shell(line, machine) };
    },
  },
  {
    fault: 'a history that ignores which session is requested',
    check: 'contract',
    code: 0,
    message: /ignores which session is requested/,
    advice: /(partnerctl contract set messages\.history\.session_id 'query:)<name>/,
    async plant() {
      const messages = ['m1', 'm2'].map((id) => ({ id, role: 'user', text: 'Hi' }));
      const { machine } = await machineFor({
        'GET /automation/spaces/': json([{ space_id: 's1', name: 'One' }]),
        'GET /automation/spaces/s1/agents/': json([{ agent_id: 'a1', name: 'Support', source_id: 'src_1' }]),
        'GET /integrations/api-chat/history/': ({ query }, response) =>
          sendJson(response, query.has('sess') ? [] : messages),
        'GET *': json([]),
      });
      return { machine, follow: (line) => shell(`${line}sess'`, machine) };
    },
  },
];

describe('doctor finds a planted fault, and its advice fixes it:', () => {
  test.each(FAULTS)('$fault', async ({ check, code, message, advice, plant }) => {
    const { machine, follow } = await plant();
    const before = await doctor(machine);
    const found = named(before.report, check);
    expect({ code: before.code, ...found }).toEqual({
      name: check,
      status: code === 0 ? 'warning' : 'failed',
      code,
      message: expect.stringMatching(message),
      hint: expect.stringMatching(advice),
    });
    // What follows from the fault is not checked, or is no failure.
    expect(before.report.summary).toMatchObject({ failed: code === 0 ? 0 : 1 });
    await follow(advice.exec(found.hint ?? '')?.[1] ?? '');
    const after = await doctor(machine);
    expect({ code: after.code, ...named(after.report, check) }).toMatchObject({ code: 0, status: 'ok', hint: null });
    expect(after.report.summary).toMatchObject({ warning: 0, failed: 0 });
    expect(JSON.stringify([before, after])).not.toContain(TOKEN);
  });
});

describe('doctor', () => {
  test('checks everything with reads and writes nothing if there is no problem', async () => {
    const { it, machine } = await healthyMachine();
    const { code, report, stderr } = await doctor(machine);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(report.checks.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'program ok',
      'profiles ok',
      'settings ok',
      'connection ok',
      'service ok',
      'clock ok',
      'token ok',
      'scopes ok',
      'balance ok',
      'contract ok',
      'state ok',
    ]);
    expect(report.summary).toEqual({ ok: 11, warning: 0, failed: 0, skipped: 0 });
    expect(named(report, 'settings').message).toContain(`${it.sandbox.baseUrl} from profile "acme"`);
    expect((await it.received()).every(({ method }) => method === 'GET')).toBe(true);
    expect(existsSync(machine.env.PARTNER_STATE ?? '')).toBe(false);
    expect(existsSync(join(machine.env.PARTNER_CONFIG_DIR ?? '', 'contracts'))).toBe(false);
  });

  test('continues independent checks after a failure, and exits with the code of the first one', async () => {
    const { machine } = await healthyMachine();
    writeFileSync(machine.env.PARTNER_STATE ?? '', '\nnot a record\n');
    machine.env.PARTNER_TOKEN = TOKEN;
    const { code, report, stderr } = await doctor(machine);
    expect(code).toBe(3);
    expect(named(report, 'token').status).toBe('failed');
    expect(named(report, 'state')).toMatchObject({ status: 'failed', hint: expect.stringContaining('state verify') });
    expect(JSON.parse(stderr).error).toMatchObject({
      message: '2 checks failed: token, state.',
      details: { failed: ['token', 'state'] },
    });
  });

  test('reports what it found before --timeout ended', async () => {
    const { it, machine } = await healthyMachine();
    await it.faults({ kind: 'stall' });
    const { code, report, stderr } = await doctor(machine, '--timeout', '1s');
    expect(code).toBe(8);
    expect(named(report, 'settings').status).toBe('ok');
    expect(named(report, 'connection')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('No response within 1s'),
    });
    expect(named(report, 'token').status).toBe('skipped');
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'service', details: { failed: ['connection'] } });
  });

  test('names the checks that it skips without a token or a service', async () => {
    const noToken = await doctor({
      env: { HOME: tempDirectory(), PARTNER_BASE_URL: 'http://127.0.0.1:9/v1' },
      options: {},
    });
    expect(noToken.code).toBe(3);
    expect(named(noToken.report, 'connection')).toMatchObject({ status: 'skipped', message: /no token/ });
    const nothing = await doctor({ env: { HOME: tempDirectory() }, options: {} });
    expect(nothing.code).toBe(2);
    expect(nothing.report.summary).toMatchObject({ failed: 1 });
    expect(named(nothing.report, 'state').status).toBe('ok');
  });

  test('warns if a variable overrides the service of the profile, and says how to undo that', async () => {
    const { machine } = await healthyMachine();
    const other = await service();
    Object.assign(machine.env, other.env, { HOME: machine.env.HOME });
    const { code, report } = await doctor(machine);
    expect(code).toBe(0);
    expect(named(report, 'settings')).toMatchObject({
      status: 'warning',
      hint: expect.stringMatching(/profile "acme", unset PARTNER_BASE_URL\.$/),
    });
  });

  test('fails for a token that may read nothing, and only warns about one that lacks a scope', async () => {
    const { it, machine } = await healthyMachine();
    const env = { ...machine.env, PARTNER_BASE_URL: it.sandbox.baseUrl };
    const none = await it.createToken({ scopes: ['api_chat.runtime'] });
    const forbidden = await doctor({ env: { ...env, PARTNER_TOKEN: none }, options: {} });
    expect(forbidden.code).toBe(3);
    expect(named(forbidden.report, 'token')).toMatchObject({ status: 'failed' });
    const some = await it.createToken({ scopes: ['spaces.read'] });
    const { code, report } = await doctor({ env: { ...env, PARTNER_TOKEN: some }, options: {} });
    expect(code).toBe(0);
    expect(named(report, 'scopes').message).toMatch(
      /the agents of a space and the list of scheduled jobs: agents\.read/,
    );
    expect(named(report, 'scopes').hint).toMatch(/use it in place of the one from PARTNER_TOKEN$/);
  });

  test.each([
    ['a page of a gateway', { 'GET *': html }, 'service', 'failed', 8],
    ['a list that fails', { 'GET /automation/spaces/': json([]), 'GET *': json({}, 500) }, 'service', 'failed', 8],
    ['no list of jobs', { 'GET /automation/spaces/': json([]), 'GET *': json({}, 404) }, 'contract', 'warning', 0],
    ['another API', { 'GET *': json({ message: 'no such path' }, 404) }, 'service', 'failed', 4],
    ['a rate limit', { 'GET *': json({}, 429) }, 'service', 'warning', 0],
  ] as const)('reports %s', async (_, script, check, status, code) => {
    const ran = await doctor((await machineFor(script)).machine);
    expect({ code: ran.code, status: named(ran.report, check).status }).toEqual({ code, status });
    expect(named(ran.report, check).hint).toBeTruthy();
    if (check === 'service') expect(named(ran.report, 'contract').status).not.toBe('failed');
  });

  test('checks a service without a list of spaces by its list of scheduled jobs', async () => {
    const { machine } = await machineFor({ 'GET /automation/partner-cron-jobs/': json([]) });
    await shell('partnerctl contract set spaces.list none', machine);
    const { code, report } = await doctor(machine);
    expect({ code, token: named(report, 'token').status }).toEqual({ code: 0, token: 'ok' });
  });

  test('shows a line for each check that was done, with advice below it, in a pipe as in a terminal', async () => {
    const { machine } = await healthyMachine();
    machine.env.PARTNER_TOKEN = TOKEN;
    const ran = await run(['doctor', '--color', 'never'], { env: machine.env, columns: 200 });
    expect(ran.stdout).toMatch(
      /^token +failed +The service rejected the token from PARTNER_TOKEN \(401\)\..*\n +Set a valid token, or unset it to use profile "acme"/m,
    );
    expect(ran.stdout).not.toMatch(/skipped|not checked/);
    expect(ran.stderr).toContain('error: 1 check failed: token.');
    const piped = await run(['doctor'], { env: machine.env });
    const withoutTimes = (text: string) => text.replace(/\d+ ms/, '');
    expect(withoutTimes(piped.stdout)).toBe(withoutTimes(ran.stdout));
  });
});
