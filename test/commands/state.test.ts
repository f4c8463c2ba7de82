import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { fastClock, manualSignals, run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { asVersion, encodeLine, recordTypes } from '../support/state-file.ts';
import { bareRepository } from '../support/stores.ts';
import { listen } from '../support/tcp-server.ts';

const AT = '2026-01-02T03:04:05.000Z';
const BY = { user: 'ada', host: 'runner-7', pid: 7, version: '1.2.3' };

function line(type: string, id: string, fields: Readonly<Record<string, unknown>> = {}): string {
  return encodeLine({ type, at: AT, id, ...fields });
}

const JOB = { origin: 'https://api.test/v1', agent_id: 'agt_1', name: 'daily' };
const SPACE = line('space', '1', { external_space_id: 'acme-001', space_id: 'spc_1', by: BY });
const RESERVED = line('cron.reserved', '2', { key: 'k1', data: JOB });
const CREATED = line('cron.created', '3', {
  ...{ key: 'k1', of: '2', object: 'cron_1', data: JOB },
  by: { ...BY, run: 'https://ci.example.com/runs/7' },
});
const OTHER = line('upload.reserved', '4', { key: 'k2', data: { filename: 'faq.pdf' } });

function soundFile(): string {
  return write('state.jsonl', [SPACE, RESERVED, CREATED, OTHER].map((each) => `\n${each}\n`).join(''));
}

/** Every kind of line that is no record, and what is said about it. */
const LINES: readonly (readonly [line: string | Buffer, why: string | undefined])[] = [
  [SPACE, undefined],
  ['<<<<<<< ours', 'a merge conflict marker'],
  [RESERVED, undefined],
  [asVersion(SPACE, 3), 'written by a newer version of partnerctl (format 3)'],
  [SPACE, undefined],
  [RESERVED.replace('k1', 'k9'), 'changed after it was written'],
  [Buffer.from([0x7b, 0xff, 0x7d]), 'not a whole record'],
  [OTHER.slice(0, -20), 'left incomplete by a run that was killed; it is ignored'],
  [CREATED, undefined],
];
const TORN = 8;
const DAMAGED = LINES.flatMap(([, why], index) =>
  why === undefined || index + 1 === TORN ? [] : [{ line: index + 1, why }],
);

function damagedFile(): string {
  return write('state.jsonl', Buffer.concat(LINES.flatMap(([text]) => [Buffer.from(text), Buffer.from('\n')])));
}

test('state path prints only the path without a service or a file, creates neither, and -o json names the setting', async () => {
  const [HOME, XDG_STATE_HOME, PARTNER_STATE] = [tempDirectory(), tempDirectory(), soundFile()];
  const path = join(HOME, '.local/state/partnerctl/state.jsonl');
  expect(await run(['state', 'path'], { env: { HOME } })).toMatchObject({ code: 0, stdout: `${path}\n`, stderr: '' });
  const decided = async (env: Record<string, string>, ...args: string[]) =>
    (await run(['state', 'path', '-o', 'json', ...args], { env: { HOME, ...env } })).json();
  const verified = await run(['state', 'verify', '-o', 'json'], { env: { HOME } });
  expect(verified.json()).toMatchObject({ exists: false, sound: true });
  expect(await decided({})).toEqual({ path, from: 'default' });
  const inXdg = join(XDG_STATE_HOME, 'partnerctl/state.jsonl');
  expect(await decided({ XDG_STATE_HOME })).toMatchObject({ path: inXdg, from: 'default' });
  const login = ['login', '--base-url', 'https://api.example.com/v1', '--no-verify', '--state', 'team.jsonl'];
  // The same file from every directory.
  const team = resolve('team.jsonl');
  expect((await run(login, { env: { HOME, PARTNER_TOKEN: 'token-of-a-profile' } })).code).toBe(0);
  expect(await decided({ XDG_STATE_HOME })).toMatchObject({ path: team, from: 'profile' });
  expect(await decided({ PARTNER_STATE })).toMatchObject({ path: PARTNER_STATE, from: 'PARTNER_STATE' });
  const mine = await decided({ PARTNER_STATE }, '--state', 'mine.jsonl');
  expect(mine).toMatchObject({ path: 'mine.jsonl', from: '--state' });
});

describe('state show', () => {
  test('shows the records in order and who wrote them, with every field in JSON', async () => {
    const path = soundFile();
    expect(await run(['state', 'show', '--state', path])).toMatchObject({
      code: 0,
      stderr: '',
      stdout: [
        `1\t${AT}\tspace\tada@runner-7\texternal_space_id=acme-001 space_id=spc_1\n`,
        `2\t${AT}\tcron.reserved\t\tname=daily agent_id=agt_1 key=k1\n`,
        `3\t${AT}\tcron.created\thttps://ci.example.com/runs/7\tid=cron_1 name=daily agent_id=agt_1 key=k1\n`,
        `4\t${AT}\tupload.reserved\t\tfilename=faq.pdf key=k2\n`,
      ].join(''),
    });
    const records = (await run(['state', 'show', '--state', path, '-o', 'json'])).json<unknown[]>();
    expect(records[1]).toEqual({ number: 2, line: 4, type: 'cron.reserved', at: AT, id: '2', key: 'k1', data: JOB });
    const missing = join(tempDirectory(), 'state.jsonl');
    const { stderr } = await run(['state', 'show', '--state', missing], { columns: 80 });
    expect(stderr).toBe(`There is no state yet: ${missing}\n`);
  });

  test('selects by the space, also the jobs of its agents and what ended them, by age, and by kind', async () => {
    const agents = [{ agent_id: 'agt_1', name: 'Support', template_id: 't', source_id: null }];
    const space = line('space', '1', { origin: JOB.origin, external_space_id: 'acme-001', space_id: 'spc_1', agents });
    const other = line('cron.reserved', '5', { key: 'k5', data: { ...JOB, agent_id: 'agt_2' } });
    const ended = line('cron.released', '6', { key: 'k1', of: '2' });
    const old = encodeLine({ type: 'space', at: '2025-12-01T00:00:00.000Z', id: '7', space_id: 'spc_2' });
    const path = write('state.jsonl', [space, RESERVED, CREATED, OTHER, other, ended, old].join('\n'));
    const clock = fastClock(Date.parse(AT) + 86_400_000);
    const lines = async (...words: string[]) => {
      const ran = await run(['state', 'show', '--state', path, '-o', 'json', ...words], { clock });
      return ran.json<{ line: number }[]>().map((record) => record.line);
    };
    expect(await lines('--space', 'ext:acme-001')).toEqual([1, 2, 3, 6]);
    expect(await lines('--space', 'spc_1', '--kind', 'cron')).toEqual([2, 3, 6]);
    expect(await lines('--space', 'spc_9')).toEqual([]);
    expect(await lines('--kind', 'upload')).toEqual([4]);
    expect(await lines('--since', '2d')).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await lines('--since', '12h')).toEqual([]);
    const { stderr } = await run(['state', 'show', '--state', path, '--space', 'spc_9'], { columns: 80 });
    expect(stderr).toBe('No record matches.\n');
  });

  test('names a space by its name with the service, and says whose run and which plan and commit it was', async () => {
    const it = await service();
    const ci = { GITHUB_SERVER_URL: 'https://git.example.com', GITHUB_REPOSITORY: 'acme/ops', GITHUB_RUN_ID: '7' };
    const env = { ...it.env, ...ci, GITHUB_ACTOR: 'ada', GITHUB_SHA: 'c0ffee' };
    const directory = tempDirectory();
    const [file, plan] = [write('acme.yaml', manifest('acme'), directory), join(directory, 'plan.json')];
    expect((await run(['plan', file, '--out', plan], { env })).code).toBe(0);
    expect((await run(['apply', plan], { env })).code).toBe(0);
    const show = (...words: string[]) => run(['state', 'show', '--space', 'name:Space acme', ...words], { env });
    const { sha256 } = JSON.parse(readFileSync(plan, 'utf8'));
    const by = {
      user: 'ada',
      host: hostname(),
      pid: process.pid,
      run: 'https://git.example.com/acme/ops/actions/runs/7',
    };
    const whose = { ...by, commit: 'c0ffee', plan: sha256.slice(0, 16) };
    expect((await show('-o', 'json')).json()).toMatchObject([{ type: 'space', by: whose }]);
    const { stdout } = await show();
    for (const text of [`\t${by.run}\t`, ` commit=c0ffee plan=${whose.plan}\n`]) expect(stdout).toContain(text);
  });

  test('shows every intact record of a damaged file once, and warns about the lines that cannot be used', async () => {
    const path = damagedFile();
    const ran = await run(['state', 'show', '--state', path, '-o', 'json', '-q']);
    expect(ran.code).toBe(0);
    expect(ran.json<{ line: number }[]>().map((record) => record.line)).toEqual([1, 3, 9]);
    const warnings = DAMAGED.map(({ line, why }) => `warning: ${path}:${line} cannot be used: ${why}\n`);
    expect(ran.stderr).toBe(warnings.join(''));
  });
});

test('state verify exits with 0 if every line can be used; else with 1, with every line that is no record, and how to repair it', async () => {
  // A merge repeated some, and a killed run left one.
  const sound = write('state.jsonl', [SPACE, RESERVED, SPACE, CREATED, OTHER.slice(0, 30)].join('\n'));
  const verified = await run(['state', 'verify', '--state', sound, '-o', 'json']);
  expect(verified).toMatchObject({ code: 0, stderr: '' });
  expect(verified.json()).toEqual({ path: sound, exists: true, records: 3, torn: [5], damaged: [], sound: true });
  const path = damagedFile();
  const ran = await run(['state', 'verify', '--state', path, '-o', 'json']);
  expect(ran.code).toBe(1);
  expect(ran.json()).toMatchObject({ torn: [TORN], damaged: DAMAGED, sound: false });
  expect(ran.error()).toMatchObject({
    type: 'local',
    message: `The state has lines that cannot be used: ${path}`,
    hint: expect.stringMatching(/conflict markers.*update partnerctl.*from a backup or from git/),
  });
  const people = await run(['state', 'verify', '--state', path], { columns: 80 });
  expect(people.stdout.trimEnd().split('\n')).toEqual([
    path,
    'records: 3',
    ...LINES.flatMap(([, why], index) => (why === undefined ? [] : [`line ${index + 1}: ${why}`])),
    'not all lines can be used',
  ]);
});

test('A place with other content is not initialized or copied to, and stays as it is', async () => {
  const content = 'external_space_id: acme-001\nspace: { name: Acme }\n';
  const path = write('acme.yaml', content);
  for (const args of [
    ['init', path],
    ['copy', soundFile(), path],
  ]) {
    const ran = await run(['state', ...args, '-o', 'json']);
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.error()).toMatchObject({ type: 'local', message: expect.stringContaining(`${path}:1 cannot be used`) });
  }
  expect(readFileSync(path, 'utf8')).toBe(content);
});

test('A state on a branch is initialized, and a copy has no record twice', async () => {
  const [repository, HOME] = [bareRepository(), tempDirectory()];
  const address = `git+file://${repository}#main`;
  const env = { HOME, PARTNER_STATE: address };
  const made = await run(['state', 'init', '-o', 'json'], { env });
  expect(made.json()).toEqual({ address, grant: null });
  const [file, copy] = [soundFile(), join(HOME, 'copy.jsonl')];
  const copied = async (from: string, to: string) =>
    (await run(['state', 'copy', from, to, '-o', 'json'], { env })).json();
  expect(await copied(file, address)).toEqual({ from: file, to: address, copied: 4, present: 0 });
  expect(await copied(file, copy)).toMatchObject({ copied: 4 });
  expect(await copied(address, copy)).toMatchObject({ copied: 0, present: 4 });
  expect(await recordTypes(copy)).toEqual(await recordTypes(file));
  const mistyped = await run(['state', 'copy', `${address}-mistyped`, copy], { env });
  expect(mistyped).toMatchObject({ code: 4, stderr: expect.stringContaining('There is no state at git+file:') });
  const damaged = write('damaged.jsonl', `${SPACE}\n{"v":1,"type":"cron.created"\n`);
  const ran = await run(['state', 'copy', damaged, copy]);
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining(`${damaged}:2 cannot be used`) });
});

test('An address that is none is rejected from --state and PARTNER_STATE, without repeating its password', async () => {
  for (const [address, message] of [
    ['mysql://ops@db/main', 'neither a path'],
    ['postgres://ops@db.example.com/main?sslmode=disable', 'must be encrypted'],
    ['postgres://ops:12/secret@db/main', 'Write @ as %40'],
    ['postgres://ops:secret%ff@db/main', 'Write @ as %40'],
    ['host=db password=secret', 'neither a path'],
    ['//ops:secret@db/main', 'neither a path'],
    ['git+https://ghp_secretsecretsecretsecret@github.com/acme/ops.git', 'must not hold a password'],
  ] as const) {
    const ran = await run(['state', 'verify'], { env: { PARTNER_STATE: address } });
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([2, '', expect.stringContaining(message)]);
    expect(ran.stderr).not.toContain('secret');
  }
  const flag = await run(['state', 'verify', '--state', 'postgres://ops:secret@db/main']);
  expect(flag).toMatchObject({ code: 2, stderr: expect.stringContaining('--state must not hold a password') });
  expect(flag.stderr).not.toContain('secret');
});

test('In CI, a branch that does not exist is refused with `state init`, and a new file is said to guard this run alone', async () => {
  const { env, received } = await service();
  const ci = { ...env, CI: 'true' };
  const path = write('acme.yaml', manifest('acme'));
  const address = `git+file://${bareRepository()}#state`;
  const refused = await run(['provision', path, '--state', address], { env: ci });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`partnerctl state init '${address}'`) });
  expect(await received()).toEqual([]);
  expect(await run(['doctor', '--state', address], { env })).toMatchObject({
    stdout: expect.stringContaining('it does not exist yet'),
  });
  const state = join(tempDirectory(), 'state.jsonl');
  const planned = await run(['plan', path, '--state', state], { env: ci });
  expect(planned.stderr).toBe(`note: There is no state yet: ${state}\n`);
  const ran = await run(['provision', path, '--state', state], { env: ci });
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/^warning: .* guards this run alone: [^!]*$/) });
  expect(await run(['provision', path, '--state', state], { env: ci })).toMatchObject({ code: 0, stderr: '' });
});

test.each([
  ['a database', (port: number) => `postgres://ops@127.0.0.1:${port}/ops`],
  ['a git server', (port: number) => `git+http://127.0.0.1:${port}/ops.git#state`],
])('Ctrl-C ends the reading of a state at %s that does not answer, at once', async (_, addressOf) => {
  const server = createServer();
  const { port } = await listen(server);
  const signals = manualSignals();
  // The time in which records may still be written never ends.
  const sleep = (ms: number, signal?: AbortSignal) => systemClock.sleep(ms >= 5_000 ? 2 ** 31 - 1 : ms, signal);
  const ran = run(['state', 'show', '--state', addressOf(port)], { signals, clock: { ...systemClock, sleep } });
  await once(server, 'connection');
  signals.ctrlC();
  expect(await ran).toMatchObject({ code: 130, stdout: '' });
});
