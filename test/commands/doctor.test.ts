import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Handler, json, type Script, startFakeService } from '../support/fake-service.ts';
import { createProfileHome, TOKEN } from '../support/profile-home.ts';
import { run, tempDirectory } from '../support/run.ts';
import { service } from '../support/service.ts';

type Check = Readonly<Record<'name' | 'status' | 'message', string>> & { readonly hint: string | null };

interface Report {
  readonly checks: readonly Check[];
  readonly summary: Readonly<Record<string, number>>;
}

/** The environment of a machine, which faults break and advice repairs. */
interface Machine {
  readonly env: Record<string, string>;
}

async function doctor({ env }: Machine): Promise<{ code: number; report: Report; stderr: string }> {
  const ran = await run(['doctor', '-o', 'json'], { env });
  return { code: ran.code, report: ran.json(), stderr: ran.stderr };
}

function named({ checks }: Report, name: string): Check {
  const check = checks.find((each) => each.name === name);
  if (!check) throw new Error(`There is no check ${name}.`);
  return check;
}

/** A sandbox with a space and a profile for it, on a machine without problems. */
async function healthyMachine() {
  const it = await service();
  await it.admin('POST', '/spaces', { count: 2, prefix: 'acme' });
  const home = createProfileHome();
  home.store('acme', it.sandbox.baseUrl, it.token);
  await it.forget();
  const machine: Machine = { env: { ...home.env, PARTNER_STATE: join(home.config, 'state.jsonl') } };
  return { it, home, machine };
}

/** A machine for a service that is not the sandbox. */
async function machineFor(script: Script): Promise<Machine> {
  const { baseUrl } = await startFakeService(script);
  return { env: { HOME: tempDirectory(), PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: TOKEN } };
}

const html: Handler = (_, response) => response.setHeader('content-type', 'text/html').end('<h1>Welcome</h1>');

describe('doctor finds a fault, and its advice fixes it:', () => {
  /** Expects a fault that the step in the hint, after a colon, ends; `code` is 0 for a warning. */
  async function expectFixed(machine: Machine, name: string, code: number, message: RegExp, stdin?: string) {
    const before = await doctor(machine);
    const found = named(before.report, name);
    const status = code === 0 ? 'warning' : 'failed';
    expect({ code: before.code, ...found }).toMatchObject({ status, code, message: expect.stringMatching(message) });
    // What follows from the fault is not checked, or is no failure.
    expect(before.report.summary).toMatchObject({ failed: code === 0 ? 0 : 1 });
    const [step = ''] = /partnerctl (login|contract set) .*$/m.exec(found.hint ?? '') ?? [];
    const args = [...step.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
    const more = stdin === undefined ? [] : ['--token-file', '-'];
    const fixed = await run([...args.slice(1), ...more], { env: machine.env, ...(stdin !== undefined && { stdin }) });
    expect(fixed).toMatchObject({ code: 0 });
    const after = await doctor(machine);
    expect({ code: after.code, ...named(after.report, name) }).toMatchObject({ code: 0, status: 'ok', hint: null });
    expect(after.report.summary).toMatchObject({ warning: 0, failed: 0 });
    expect(JSON.stringify([before, after])).not.toContain(TOKEN);
  }

  test('a token without a scope', async () => {
    const { machine, it, home } = await healthyMachine();
    home.store('acme', it.sandbox.baseUrl, await it.createToken({ scopes: ['cron_jobs.read'] }));
    const message = /no scope to read the list of spaces: spaces\.read\./;
    await expectFixed(machine, 'scopes', 0, message, it.token);
  });

  test('an assumption that the service contradicts', async () => {
    const list = { found: [{ space_id: 's1', name: 'One' }], lost: [{ id: 'l1' }] };
    const machine = await machineFor({ 'GET /automation/spaces/': json(list), 'GET *': json([]) });
    await expectFixed(machine, 'contract', 8, /in several places: found, lost/);
  });
});

describe('doctor', () => {
  test('checks everything with reads and writes nothing if there is no problem', async () => {
    const { it, machine } = await healthyMachine();
    const { code, report, stderr } = await doctor(machine);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const all = 'program settings service scopes contract state';
    expect(report.checks.map(({ name }) => name).join(' ')).toBe(all);
    expect(report.summary).toEqual({ ok: 6, warning: 0, failed: 0, skipped: 0 });
    expect(named(report, 'settings').message).toContain(`${it.sandbox.baseUrl} from profile "acme"`);
    expect((await it.received()).every(({ method }) => method === 'GET')).toBe(true);
    expect(existsSync(machine.env.PARTNER_STATE ?? '')).toBe(false);
    expect(existsSync(join(machine.env.PARTNER_CONFIG_DIR ?? '', 'contracts'))).toBe(false);
  });

  test('continues independent checks after a failure, exits with the code of the first one, and shows a line for each with advice below it', async () => {
    const { machine } = await healthyMachine();
    writeFileSync(machine.env.PARTNER_STATE ?? '', '\nnot a record\n');
    machine.env.PARTNER_TOKEN = TOKEN;
    const { code, report, stderr } = await doctor(machine);
    expect(code).toBe(3);
    expect(named(report, 'state')).toMatchObject({ status: 'failed', hint: expect.stringContaining('state verify') });
    const error = { message: 'Failed checks: service, state.', details: { failed: ['service', 'state'] } };
    expect(JSON.parse(stderr).error).toMatchObject(error);
    const shown = await run(['doctor', '--color', 'never'], { env: machine.env, columns: 1_000 });
    expect(shown.stdout).toMatch(
      /^service +failed +The service rejected the token from PARTNER_TOKEN \(401\)\..*\n +Set a valid token, or unset it/m,
    );
    expect(shown.stdout).not.toMatch(/skipped|not checked/);
    // A pipe gets the same as a terminal.
    expect((await run(['doctor'], { env: machine.env })).stdout).toBe(shown.stdout);
  });

  test.each([
    ['no token', {}, 3, 'service', /./],
    ['no connection', { PARTNER_TOKEN: TOKEN }, 8, 'service', /^Could not reach \S+\. The connection was refused$/],
  ] as const)('names what failed with %s, and checks the state', async (_, more, expected, check, message) => {
    const env = { HOME: tempDirectory(), PARTNER_BASE_URL: 'http://127.0.0.1:9/v1', ...more };
    const { code, report } = await doctor({ env });
    expect(code).toBe(expected);
    expect(named(report, check)).toMatchObject({ status: 'failed', message: expect.stringMatching(message) });
    expect(named(report, 'contract').status).toBe('skipped');
    expect(named(report, 'state').status).toBe('ok');
  });

  test.each([
    ['a page of a gateway', { 'GET *': html }, 'service', 'failed', 8],
    ['no list of jobs', { 'GET /automation/spaces/': json([]), 'GET *': json({}, 404) }, 'contract', 'warning', 0],
    [
      'items that cannot be read',
      { 'GET /automation/spaces/': json([{ name: 'A' }]), 'GET *': json([]) },
      'contract',
      'failed',
      8,
    ],
    ['another API', { 'GET *': json({ message: 'no such path' }, 404) }, 'service', 'failed', 4],
    ['a balance that is too low', { 'GET *': json({}, 402) }, 'service', 'failed', 6],
    ['a rate limit', { 'GET *': json({}, 429) }, 'service', 'warning', 0],
  ] as const)('reports %s', async (_, script, check, status, code) => {
    const ran = await doctor(await machineFor(script));
    expect({ code: ran.code, status: named(ran.report, check).status }).toEqual({ code, status });
    expect(named(ran.report, check).hint).toBeTruthy();
    if (check === 'service') expect(named(ran.report, 'contract').status).not.toBe('failed');
  });
});
