import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/registry.ts';
import type { Clock } from '../../src/clock.ts';
import { LISTINGS } from '../../src/doctor/probe-lists.ts';
import { CERTIFICATE } from '../support/certificate.ts';
import { proxyTo } from '../support/connect-proxy.ts';
import { type Handler, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { findClosedPort } from '../support/tcp-server.ts';
import { createProfileHome, storeProfile, TOKEN } from './profile-home.ts';

interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly message: string;
  readonly hint: string | null;
}

interface Report {
  readonly checks: readonly Check[];
  readonly summary: Readonly<Record<Check['status'], number>>;
}

const BIN = join(import.meta.dirname, '../../bin/partnerctl.js');

/** The environment, clock, and Node.js of a machine, which faults break and advice repairs. */
interface Machine {
  readonly env: Record<string, string>;
  readonly options: { clock?: Clock; nodeVersion?: string };
  /** Whether the program runs in its own process, which reads the certificates when it starts. */
  readonly isSpawned?: boolean;
}

async function doctor(
  { env, options, isSpawned }: Machine,
  ...flags: readonly string[]
): Promise<{ code: number; report: Report; stderr: string }> {
  const args = ['doctor', '-o', 'json', ...flags];
  if (!isSpawned) {
    const ran = await run(args, { env, ...options });
    return { code: ran.code, report: ran.json(), stderr: ran.stderr };
  }
  const ran = await execa(process.execPath, [BIN, ...args], { env, extendEnv: false, reject: false, stdin: 'ignore' });
  return { code: ran.exitCode ?? -1, report: JSON.parse(ran.stdout), stderr: ran.stderr };
}

function named({ checks }: Report, name: string): Check {
  const check = checks.find((each) => each.name === name);
  if (!check) throw new Error(`There is no check ${name}.`);
  return check;
}

/** A sandbox with a space and a profile for it, on a machine without problems. */
async function healthyMachine(host = '127.0.0.1'): Promise<{ it: Service; machine: Machine; path: string }> {
  const it = await service();
  await it.admin('POST', '/spaces', { count: 2, prefix: 'acme' });
  const home = createProfileHome();
  await storeProfile(home, 'acme', it.sandbox.baseUrl.replace('127.0.0.1', host), it.token);
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
  follow(advice: string): Promise<unknown>;
}

interface Fault {
  readonly fault: string;
  readonly check: string;
  readonly finds: Pick<Check, 'status'> & { readonly code: number; readonly message: RegExp };
  /** Matches the hint; its first group is the step to take. */
  readonly advice: RegExp;
  plant(): Promise<Planted>;
}

function unsetting(machine: Machine): Planted {
  return { machine, follow: async (variable) => delete machine.env[variable] };
}

const html: Handler = (_, response) => response.setHeader('content-type', 'text/html').end('<h1>Welcome</h1>');

const UNSET = /unset (\w+)/;

const FAULTS: readonly Fault[] = [
  {
    fault: 'a wrong address',
    check: 'connection',
    finds: { status: 'failed', code: 8, message: /^Could not reach \S+\/v1: the connection was refused\.$/ },
    advice: /^Check that the service is running and .* unset (\w+)/,
    async plant() {
      const { machine, it } = await healthyMachine();
      machine.env.PARTNER_BASE_URL = `http://127.0.0.1:${await findClosedPort()}/v1`;
      machine.env.PARTNER_TOKEN = it.token;
      return unsetting(machine);
    },
  },
  {
    fault: 'a host name that is unknown',
    check: 'dns',
    finds: { status: 'failed', code: 8, message: /no-such-host\.invalid cannot be resolved/ },
    advice: UNSET,
    async plant() {
      const { machine, it } = await healthyMachine('localhost');
      machine.env.PARTNER_BASE_URL = 'https://no-such-host.invalid/v1';
      machine.env.PARTNER_TOKEN = it.token;
      return unsetting(machine);
    },
  },
  {
    fault: 'a certificate of an unknown authority',
    check: 'tls',
    finds: { status: 'failed', code: 8, message: /self-signed certificate/ },
    advice: /set (NODE_EXTRA_CA_CERTS) to a file with the authority's certificate/,
    async plant() {
      const fake = await startFakeService(json([]), { tls: true });
      const machine: Machine = {
        env: { HOME: tempDirectory(), PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: TOKEN },
        options: {},
        isSpawned: true,
      };
      const follow = async (variable: string) => {
        machine.env[variable] = write('authority.pem', CERTIFICATE);
      };
      return { machine, follow };
    },
  },
  {
    fault: 'a proxy that is down',
    check: 'proxy',
    finds: { status: 'failed', code: 8, message: /from HTTPS_PROXY\) refused the connection/ },
    advice: /Set (HTTPS_PROXY) to the URL of a working proxy/,
    async plant() {
      const fake = await startFakeService(json([]), { tls: true });
      const proxy = await proxyTo(fake.port);
      const env: Record<string, string> = {
        HOME: tempDirectory(),
        PARTNER_BASE_URL: 'https://api.partner.test/v1',
        PARTNER_TOKEN: TOKEN,
        HTTPS_PROXY: `http://127.0.0.1:${await findClosedPort()}`,
        NODE_EXTRA_CA_CERTS: write('authority.pem', CERTIFICATE),
      };
      const follow = async (variable: string) => {
        env[variable] = proxy.url;
      };
      return { machine: { env, options: {}, isSpawned: true }, follow };
    },
  },
  {
    fault: 'a clock that is ahead',
    check: 'clock',
    finds: { status: 'warning', code: 0, message: /clock is 3 h ahead of/ },
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
      const follow = async (time: string) => {
        machine.options.clock = ahead(Date.parse(time) - Date.now());
      };
      return { machine, follow };
    },
  },
  {
    fault: 'a token that the service does not know',
    check: 'token',
    finds: { status: 'failed', code: 3, message: /rejected the token from PARTNER_TOKEN \(401\)/ },
    advice: /(unset it) to use profile "acme"/,
    async plant() {
      const { machine } = await healthyMachine();
      machine.env.PARTNER_TOKEN = TOKEN;
      return { machine, follow: async () => delete machine.env.PARTNER_TOKEN };
    },
  },
  {
    fault: 'a token without a scope',
    check: 'scopes',
    finds: { status: 'warning', code: 0, message: /spaces\.read \(for spaces list, plan, provision/ },
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
    finds: { status: 'failed', code: 6, message: /balance is too low \(402\)/ },
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
    finds: { status: 'failed', code: 1, message: /cannot be used: .*changed after it was written/ },
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
    finds: { status: 'failed', code: 2, message: /are damaged/ },
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
    check: 'node',
    finds: { status: 'failed', code: 1, message: /18\.19\.0 is older than 20\.18\.1/ },
    advice: /Install Node\.js (\S+) or later/,
    async plant() {
      const { machine } = await healthyMachine();
      machine.options.nodeVersion = '18.19.0';
      const follow = async (version: string) => {
        machine.options.nodeVersion = version;
      };
      return { machine, follow };
    },
  },
  {
    fault: 'an assumption that the service contradicts',
    check: 'contract',
    finds: { status: 'failed', code: 8, message: /in several places: found, lost/ },
    advice: /(partnerctl contract set spaces\.list\.items \S+)/,
    async plant() {
      const list = { found: [{ space_id: 's1', name: 'One' }], lost: [{ id: 'l1' }] };
      const fake = await startFakeService({
        'GET /automation/spaces/': json(list),
        'GET *': json([]),
      });
      const env = { HOME: tempDirectory(), PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: TOKEN };
      const machine: Machine = { env, options: {} };
      return { machine, follow: (line) => shell(line, machine) };
    },
  },
  {
    fault: 'a history that ignores which session is requested',
    check: 'contract',
    finds: { status: 'warning', code: 0, message: /ignores which session is requested/ },
    advice: /(partnerctl contract set messages\.history\.session_id 'query:)<name>/,
    async plant() {
      const messages = ['m1', 'm2'].map((id) => ({ id, role: 'user', text: 'Hi' }));
      const fake = await startFakeService({
        'GET /automation/spaces/': json([{ space_id: 's1', name: 'One' }]),
        'GET /automation/spaces/s1/agents/': json([{ agent_id: 'a1', name: 'Support', source_id: 'src_1' }]),
        'GET /integrations/api-chat/history/': ({ query }, response) =>
          sendJson(response, query.has('sess') ? [] : messages),
        'GET *': json([]),
      });
      const env = { HOME: tempDirectory(), PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: TOKEN };
      const machine: Machine = { env, options: {} };
      return { machine, follow: (line) => shell(`${line}sess'`, machine) };
    },
  },
];

describe('doctor finds a planted fault, and its advice fixes it:', () => {
  test.each(FAULTS)('$fault', async ({ check, finds, advice, plant }) => {
    const { machine, follow } = await plant();
    const before = await doctor(machine);
    const found = named(before.report, check);
    expect({ code: before.code, ...found }).toEqual({
      name: check,
      status: finds.status,
      code: finds.code,
      message: expect.stringMatching(finds.message),
      hint: expect.stringMatching(advice),
    });
    // What follows from the fault is not checked, or is no failure.
    expect(before.report.summary).toMatchObject({ failed: finds.status === 'failed' ? 1 : 0 });
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
      'node ok',
      'profiles ok',
      'settings ok',
      'proxy ok',
      'dns skipped',
      'connection ok',
      'tls skipped',
      'service ok',
      'clock ok',
      'token ok',
      'scopes ok',
      'balance ok',
      'contract ok',
      'state ok',
    ]);
    expect(report.summary).toEqual({ ok: 13, warning: 0, failed: 0, skipped: 2 });
    expect(named(report, 'settings').message).toContain(`${it.sandbox.baseUrl} from profile "acme"`);
    expect((await it.received()).every(({ method }) => method === 'GET')).toBe(true);
    expect(existsSync(machine.env.PARTNER_STATE ?? '')).toBe(false);
    expect(existsSync(join(machine.env.PARTNER_CONFIG_DIR ?? '', 'contracts'))).toBe(false);
  });

  test('does not report a service that answers only 402 as unreachable', async () => {
    const { machine, it } = await healthyMachine();
    await it.set({ balance_usd: 0.5 });
    const { report } = await doctor(machine);
    expect(named(report, 'token')).toMatchObject({
      status: 'skipped',
      message: 'not checked: the service responded with 402: the balance is too low',
    });
    await it.set({ balance_usd: 100 });
    await it.faults({ kind: 'status', status: 429 });
    const limited = await doctor(machine);
    expect(named(limited.report, 'token').message).toBe('not checked: the service responded with 429');
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

  test('fails the check of a token_command that --timeout ends, and skips what follows', async () => {
    const { machine } = await healthyMachine();
    const file = join(machine.env.PARTNER_CONFIG_DIR ?? '', 'config.json');
    const stored = JSON.parse(readFileSync(file, 'utf8'));
    stored.profiles.acme = { base_url: stored.profiles.acme.base_url, token_command: 'exec sleep 600' };
    writeFileSync(file, JSON.stringify(stored));
    const { code, report } = await doctor(machine, '--timeout', '1s');
    expect(code).toBe(1);
    expect(named(report, 'token')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('did not finish within --timeout'),
    });
    expect(named(report, 'state')).toMatchObject({ status: 'skipped', message: 'not checked: --timeout ended before' });
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

  test('fails for a missing scope that the recorded commands need, with advice that fixes it', async () => {
    const { it, machine } = await healthyMachine();
    const file = write('acme.yaml', manifest('acme'));
    await shell(`partnerctl provision ${file}`, machine);
    const lacking = await it.createToken({ scopes: ['cron_jobs.read'] });
    await shell('partnerctl login --profile acme --token-file -', machine, lacking);
    const { code, report, stderr } = await doctor(machine);
    const { message, hint } = named(report, 'scopes');
    expect(message).toMatch(/spaces\.read .* The state has records of commands that need them \(space\)\.$/);
    expect({ code, failed: JSON.parse(stderr).error.details.failed }).toEqual({ code: 3, failed: ['scopes'] });
    await shell(
      /^Create a token .* store it with: (partnerctl login .*)$/.exec(hint ?? '')?.[1] ?? '',
      machine,
      it.token,
    );
    expect((await doctor(machine)).code).toBe(0);
  });

  test.each([
    ['a page of a gateway', { 'GET *': html }, 'service', 'failed', 8],
    ['a list that fails', { 'GET /automation/spaces/': json([]), 'GET *': json({}, 500) }, 'service', 'failed', 8],
    ['no list of jobs', { 'GET /automation/spaces/': json([]), 'GET *': json({}, 404) }, 'contract', 'warning', 0],
    ['another API', { 'GET *': json({ message: 'no such path' }, 404) }, 'service', 'failed', 4],
    ['a rate limit', { 'GET *': json({}, 429) }, 'service', 'warning', 0],
  ] as const)('reports %s', async (_, script, check, status, code) => {
    const fake = await startFakeService(script);
    const env = { HOME: tempDirectory(), PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: TOKEN };
    const ran = await doctor({ env, options: {} });
    expect({ code: ran.code, status: named(ran.report, check).status }).toEqual({ code, status });
    expect(named(ran.report, check).hint).toBeTruthy();
    if (check === 'service') expect(named(ran.report, 'contract').status).not.toBe('failed');
  });

  test('checks a service without a list of spaces by its list of scheduled jobs', async () => {
    const fake = await startFakeService({ 'GET /automation/partner-cron-jobs/': json([]) });
    const machine: Machine = {
      env: { HOME: tempDirectory(), PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: TOKEN },
      options: {},
    };
    await shell('partnerctl contract set spaces.list none', machine);
    const { code, report } = await doctor(machine);
    expect({ code, token: named(report, 'token').status }).toEqual({ code: 0, token: 'ok' });
  });

  test('reports a state on a branch as shared, and fails if it is unreachable', async () => {
    const { machine } = await healthyMachine();
    const repository = tempDirectory();
    await execa('git', ['init', '--bare', '-q', repository]);
    machine.env.PATH = process.env.PATH ?? '';
    machine.env.PARTNER_STATE = `git+file://${repository}#state`;
    await shell('partnerctl state init', machine);
    const before = await execa('git', ['-C', repository, 'rev-parse', 'state']);
    const shared = await doctor(machine);
    expect({ code: shared.code, ...named(shared.report, 'state') }).toMatchObject({
      code: 0,
      status: 'ok',
      message: expect.stringContaining('from PARTNER_STATE: shared'),
    });
    expect((await execa('git', ['-C', repository, 'rev-parse', 'state'])).stdout).toBe(before.stdout);
    machine.env.PARTNER_STATE = `git+file://${repository}-gone#state`;
    const lost = await doctor(machine);
    expect(lost.code).toBe(8);
    expect(named(lost.report, 'state')).toMatchObject({ status: 'failed', hint: expect.any(String) });
    expect(named(lost.report, 'token').status).toBe('ok');
  });

  test('shows each check on a line, with advice below it', async () => {
    const { machine } = await healthyMachine();
    machine.env.PARTNER_TOKEN = TOKEN;
    const ran = await run(['doctor', '--color', 'never'], { env: machine.env, columns: 100 });
    expect(ran.stdout).toMatch(/^failed +token: The service rejected the token/m);
    expect(ran.stdout).toContain('unset it to use profile "acme"');
    expect(ran.stderr).toContain('error: 1 check failed: token.');
  });
});

test('doctor names exactly the scopes that the commands declare', async () => {
  const declared = new Map<string, readonly string[]>();
  for (const { commandPath, load } of COMMANDS) declared.set(commandPath, (await load()).default.scopes);
  for (const { scope, neededBy } of LISTINGS) {
    const commands = [...declared.keys()].filter((path) => new RegExp(`(^|, |and )${path}(,| and|$)`).test(neededBy));
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands)
      expect([command, declared.get(command)]).toEqual([command, expect.arrayContaining([scope])]);
  }
  const { stdout } = await run(['agents', 'list', '--help']);
  expect(stdout).toMatch(/\nScopes of the token:\n {2}agents\.read\n {2}spaces\.read\n/);
});
