import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCronAgent } from '../support/cron.ts';
import { encodeVersion1 } from '../support/earlier-version.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { asNewerVersion, encodeLine, recordTypes } from '../support/state-file.ts';
import { bareRepository } from '../support/stores.ts';

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
  ['=======', 'a merge conflict marker'],
  ['>>>>>>> theirs', 'a merge conflict marker'],
  [asNewerVersion(SPACE), 'written by a newer version of partnerctl (format 3)'],
  [SPACE, 'the same record as on an earlier line; it counts once'],
  [RESERVED.replace('k1', 'k9'), 'changed after it was written'],
  [Buffer.from([0x7b, 0xff, 0x7d]), 'not a whole record'],
  ['hello', 'not a whole record'],
  [OTHER.slice(0, -20), 'left incomplete by a run that was killed; it is ignored'],
  [CREATED, undefined],
];
const [DUPLICATE, TORN] = [7, 11];
const DAMAGED = LINES.flatMap(([, why], index) =>
  why === undefined || [DUPLICATE, TORN].includes(index + 1) ? [] : [{ line: index + 1, why }],
);

function damagedFile(): string {
  return write('state.jsonl', Buffer.concat(LINES.flatMap(([text]) => [Buffer.from(text), Buffer.from('\n')])));
}

describe('state path', () => {
  test('prints only the path, without a service or a file, and creates neither', async () => {
    const HOME = tempDirectory();
    const path = join(HOME, '.local/state/partnerctl/state.jsonl');
    for (const columns of [undefined, 80]) {
      const ran = await run(['state', 'path'], { env: { HOME }, columns });
      expect(ran).toMatchObject({ code: 0, stdout: `${path}\n`, stderr: '' });
    }
    const nothing = { path, from: 'default', exists: false, writable: true, problem: null, hint: null };
    for (const _ of ['first', 'after state verify']) {
      expect((await run(['state', 'path', '-o', 'json'], { env: { HOME } })).json()).toEqual(nothing);
      const verified = await run(['state', 'verify', '-o', 'json'], { env: { HOME } });
      expect(verified.json()).toMatchObject({ exists: false, sound: true });
    }
  });

  test('names the setting that decides: the flag, the variable, the profile, or the default', async () => {
    const [HOME, XDG_STATE_HOME, PARTNER_STATE] = [tempDirectory(), tempDirectory(), soundFile()];
    const decided = async (args: string[], env: Record<string, string>) =>
      (await run(['state', 'path', '-o', 'json', ...args], { env: { HOME, XDG_STATE_HOME, ...env } })).json();
    const path = join(XDG_STATE_HOME, 'partnerctl/state.jsonl');
    expect(await decided([], {})).toMatchObject({ path, from: 'XDG_STATE_HOME' });
    const login = ['login', '--base-url', 'https://api.example.com/v1', '--no-verify', '--state', 'team.jsonl'];
    expect((await run(login, { env: { HOME, PARTNER_TOKEN: 'token-of-a-profile' } })).code).toBe(0);
    expect(await decided([], {})).toMatchObject({ path: 'team.jsonl', from: 'profile' });
    expect(await decided([], { PARTNER_STATE })).toMatchObject({
      ...{ path: PARTNER_STATE, from: 'PARTNER_STATE', exists: true, writable: true, problem: null },
    });
    const mine = await decided(['--state', 'mine.jsonl'], { PARTNER_STATE });
    expect(mine).toMatchObject({ path: 'mine.jsonl', from: '--state', exists: false });
  });
});

describe('state show', () => {
  test('shows the records in order and who wrote them, with every field in JSON', async () => {
    const path = soundFile();
    expect(await run(['state', 'show', '--state', path])).toMatchObject({
      code: 0,
      stderr: '',
      stdout: [
        `2\t${AT}\tspace\tada@runner-7\texternal_space_id=acme-001 space_id=spc_1\n`,
        `4\t${AT}\tcron.reserved\t\tname=daily agent_id=agt_1 key=k1\n`,
        `6\t${AT}\tcron.created\thttps://ci.example.com/runs/7\tid=cron_1 name=daily agent_id=agt_1 key=k1\n`,
        `8\t${AT}\tupload.reserved\t\tfilename=faq.pdf key=k2\n`,
      ].join(''),
    });
    const json = await run(['state', 'show', '--state', path, '-o', 'json']);
    expect(json.json<unknown[]>()[1]).toEqual({
      line: 4,
      type: 'cron.reserved',
      at: AT,
      id: '2',
      key: 'k1',
      data: JOB,
    });
  });

  test('filters by type and key', async () => {
    const path = soundFile();
    const lines = async (...args: string[]) =>
      (await run(['state', 'show', '--state', path, '--query', '[].line', '-o', 'json', ...args])).json();
    expect(await lines('--type', 'cron')).toEqual([4, 6]);
    expect(await lines('--key', 'k1', '--type', 'cron.created')).toEqual([6]);
    expect(await lines('--key', 'k9')).toEqual([]);
    expect(await lines('--type', 'cron.creat')).toEqual([]);
  });

  test('shows what a run recorded', async () => {
    const { env } = await service();
    expect((await run(['provision', write('a.yaml', manifest('acme-001'))], { env })).code).toBe(0);
    expect((await run(['state', 'show', '-o', 'json'], { env })).json()).toMatchObject([
      { line: 2, type: 'space', external_space_id: 'acme-001', space_id: expect.any(String) },
    ]);
  });

  test('shows what the version before recorded of jobs and uploads as this version names it', async () => {
    const old = [
      { type: 'cron.reserved', at: AT, id: '1', key: 'k1', ...JOB, seen: ['cron_0'] },
      { type: 'cron.adopted', at: AT, id: '2', key: 'k1', ...JOB, reservation: '1', cron_job_id: 'cron_1' },
      { type: 'upload.done', at: AT, id: '3', key: 'k2', filename: 'faq.pdf', sent: '9', upload_id: 'att_1' },
      { type: 'message.sent', at: AT, id: '4', key: 'k3' },
    ];
    const path = write('state.jsonl', old.map((record) => `${encodeVersion1(record)}\n`).join(''));
    expect((await run(['state', 'show', '--state', path, '-o', 'json'])).json()).toMatchObject([
      { type: 'cron.reserved', key: 'k1', data: JOB, seen: ['cron_0'] },
      { type: 'cron.created', key: 'k1', data: JOB, of: '1', object: 'cron_1' },
      { type: 'upload.created', key: 'k2', data: { filename: 'faq.pdf' }, of: '9', object: 'att_1' },
      { type: 'message.sent' },
    ]);
  });

  test('shows every intact record of a damaged file once, and warns about the lines that cannot be used', async () => {
    const path = damagedFile();
    const ran = await run(['state', 'show', '--state', path, '-o', 'json', '-q']);
    expect(ran.code).toBe(0);
    expect(ran.json<{ line: number }[]>().map((record) => record.line)).toEqual([1, 3, 12]);
    const warnings = DAMAGED.map(({ line, why }) => `warning: ${path}:${line} cannot be used: ${why}\n`);
    expect(ran.stderr).toBe(warnings.join(''));
    const many = write('state.jsonl', `${'broken\n'.repeat(1_000)}${SPACE}\n`);
    const counted = await run(['state', 'show', '--state', many]);
    expect(counted.stdout).toContain('1001\t');
    expect(counted.stderr.trimEnd().split('\n')).toHaveLength(21);
    expect(counted.stderr).toContain('980 more lines cannot be used; `partnerctl state verify` names them all.');
  });

  test('says that there is no state or no such record', async () => {
    const missing = join(tempDirectory(), 'state.jsonl');
    const shown = async (...args: string[]) =>
      (await run(['state', 'show', '--state', ...args], { columns: 80 })).stderr;
    expect(await shown(missing)).toBe(`There is no state yet: ${missing}\n`);
    expect(await shown(soundFile(), '--key', 'x')).toBe('The state has no such record.\n');
  });
});

describe('state verify', () => {
  test('exits with 0 if every line can be used, also if a merge repeated some and a killed run left one', async () => {
    const path = write('state.jsonl', [SPACE, RESERVED, SPACE, CREATED, OTHER.slice(0, 30)].join('\n'));
    const ran = await run(['state', 'verify', '--state', path, '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const records = { space: 1, 'cron.reserved': 1, 'cron.created': 1 };
    expect(ran.json()).toEqual({ path, exists: true, records, duplicates: [3], torn: [5], damaged: [], sound: true });
    expect((await run(['state', 'verify', '--state', soundFile()])).stdout.split('\n').slice(1)).toEqual([
      '4 records: 1 space, 1 cron.reserved, 1 cron.created, 1 upload.reserved',
      'all lines can be used',
      '',
    ]);
  });

  test('exits with 1 for a damaged file, names every line that is no record, and says how to repair it', async () => {
    const path = damagedFile();
    const ran = await run(['state', 'verify', '--state', path, '-o', 'json']);
    expect(ran.code).toBe(1);
    expect(ran.json()).toMatchObject({ duplicates: [DUPLICATE], torn: [TORN], damaged: DAMAGED, sound: false });
    expect(ran.error()).toMatchObject({
      type: 'local',
      message: `The state has lines that cannot be used: ${path}`,
      hint: expect.stringMatching(/conflict markers.*\nUpdate partnerctl\.\n.*from a backup or from git/),
    });
    const people = await run(['state', 'verify', '--state', path], { columns: 80 });
    expect(people.stdout.trimEnd().split('\n')).toEqual([
      path,
      '3 records: 1 space, 1 cron.reserved, 1 cron.created',
      ...LINES.flatMap(([, why], index) => (why === undefined ? [] : [`line ${index + 1}: ${why}`])),
      'not all lines can be used',
    ]);
    expect(people.stderr).toContain('7 lines cannot be used. Nothing is created until they are repaired.');
  });

  test('counts record types with any name', async () => {
    const types = ['__proto__', 'constructor'];
    const path = write(
      'state.jsonl',
      types.map((type, id) => encodeVersion1({ type, at: AT, id: `${id}` })).join('\n'),
    );
    const ran = await run(['state', 'verify', '--state', path, '-o', 'json']);
    expect(ran.stdout).toContain('"__proto__": 1');
    expect(ran.json()).toMatchObject({ sound: true });
  });
});

describe('a path that is no file', () => {
  const make = (command: (path: string) => void) => (): string => {
    const path = join(tempDirectory(), 'state');
    command(path);
    return path;
  };
  test.each([
    ['a directory', tempDirectory, 'It is a directory, a device, or a pipe.'],
    ['a device', () => '/dev/null', 'It is a directory, a device, or a pipe.'],
    ['a link to itself', make((path) => symlinkSync(path, path)), 'It is a symbolic link that points to itself.'],
    ['below a file', () => join(write('file', ''), 'state.jsonl'), 'not a directory'],
  ])('is refused with the reason: %s', async (_, place, why) => {
    const path = place();
    for (const command of ['show', 'verify']) {
      const ran = await run(['state', command, '--state', path, '-o', 'json']);
      expect(ran).toMatchObject({ code: 1, stdout: '' });
      expect(ran.error()).toMatchObject({
        type: 'local',
        message: `The state file could not be read: ${path}`,
        hint: expect.stringContaining('--state'),
        details: { why: expect.stringContaining(why) },
      });
    }
    const plain = await run(['state', 'path', '--state', path]);
    expect(plain).toMatchObject({ code: 0, stdout: `${path}\n`, stderr: expect.stringContaining(why) });
    const json = await run(['state', 'path', '--state', path, '-o', 'json']);
    expect(json.json()).toMatchObject({ writable: false, problem: expect.stringContaining(why) });
  });
});

describe('a place with other content', () => {
  test('is not initialized or copied to, and stays as it is', async () => {
    const content = 'external_space_id: acme-001\nspace: { name: Acme }\n';
    const path = write('acme.yaml', content);
    for (const args of [
      ['init', path],
      ['copy', soundFile(), path],
    ]) {
      const ran = await run(['state', ...args, '-o', 'json']);
      expect(ran).toMatchObject({ code: 1, stdout: '' });
      expect(ran.error()).toMatchObject({ type: 'local', message: `This is not a state: ${path}` });
      expect(readFileSync(path, 'utf8')).toBe(content);
    }
  });

  test.each([
    ['damaged', damagedFile],
    ['empty', () => write('state.jsonl', '\n\n')],
    ['cut after its first bytes', () => write('state.jsonl', RESERVED.slice(0, 30))],
  ])('is not a state that is %s', async (_, file) => {
    expect((await run(['state', 'init', file()])).code).toBe(0);
  });
});

describe('a state at a URL', () => {
  const repository = () => `git+file://${bareRepository()}#state`;

  test('is initialized, and shown like a file', async () => {
    const HOME = tempDirectory();
    const address = repository();
    const made = await run(['state', 'init', address, '-o', 'json'], { env: { HOME } });
    expect(made.json()).toEqual({ address, grant: null });
    const env = { HOME, PARTNER_STATE: address };
    expect((await run(['state', 'path'], { env })).stdout).toBe(`${address}\n`);
    const path = await run(['state', 'path', '-o', 'json'], { env });
    expect(path.json()).toMatchObject({ path: address, from: 'PARTNER_STATE', exists: true, problem: null });
    const verified = await run(['state', 'verify', '-o', 'json'], { env });
    expect(verified.json()).toMatchObject({ path: address, sound: true });
    expect((await run(['state', 'show'], { env, columns: 80 })).stderr).toBe('The state has no such record.\n');
  });

  test('keeps the other files of its branch, and says so', async () => {
    const path = bareRepository();
    const git = (args: readonly string[], input = '') =>
      execFileSync('git', ['--git-dir', path, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
        input,
      })
        .toString()
        .trim();
    const blob = git(['hash-object', '-w', '--stdin'], 'Hello.');
    const tree = git(['mktree'], `100644 blob ${blob}\tREADME.md\n`);
    git(['update-ref', 'refs/heads/main', git(['commit-tree', tree, '-m', 'x'])]);
    const address = `git+file://${path}#main`;
    const init = () => run(['state', 'init', address], { env: { HOME: tempDirectory() } });
    expect(await init()).toMatchObject({
      code: 0,
      stderr: `warning: Branch main already has other files; state.jsonl was added to it: ${address}\n`,
    });
    expect(await init()).toMatchObject({ code: 0, stderr: '' });
    expect(git(['ls-tree', '--name-only', 'main'])).toBe('README.md\nstate.jsonl');
  });

  test('is copied to from a file, and back, without a record twice', async () => {
    const HOME = tempDirectory();
    const [file, address, copy] = [soundFile(), repository(), join(HOME, 'copy.jsonl')];
    const copied = async (from: string, to: string) =>
      (await run(['state', 'copy', from, to, '-o', 'json'], { env: { HOME } })).json();
    expect(await copied(file, address)).toEqual({ from: file, to: address, copied: 4, present: 0 });
    expect(await copied(file, address)).toMatchObject({ copied: 0, present: 4 });
    expect(await copied(address, copy)).toMatchObject({ copied: 4 });
    expect(await recordTypes(copy)).toEqual(await recordTypes(file));
  });

  test('is not copied from a state with a damaged line', async () => {
    const [file, to] = [
      write('state.jsonl', `${SPACE}\n{"v":1,"type":"cron.created"\n`),
      join(tempDirectory(), 'copy'),
    ];
    const ran = await run(['state', 'copy', file, to]);
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${file}:2 cannot be used, so nothing was copied.`),
    });
    expect(existsSync(to)).toBe(false);
  });

  test.each([
    ['a file', () => join(tempDirectory(), 'mistyped.jsonl')],
    ['a branch', () => `${repository()}-mistyped`],
  ])('is missing if there is no such thing: %s', async (_, mistyped) => {
    const [address, to, HOME] = [mistyped(), join(tempDirectory(), 'copy.jsonl'), tempDirectory()];
    const ran = await run(['state', 'copy', address, to], { env: { HOME } });
    expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining(`There is no state at ${address}.`) });
    expect(existsSync(to)).toBe(false);
    const shown = await run(['state', 'show', '--state', address], { env: { HOME }, columns: 200 });
    expect(shown.stderr).toBe(`There is no state yet: ${address}\n`);
    const path = await run(['state', 'path', '--state', address, '-o', 'json'], { env: { HOME } });
    expect(path.json()).toMatchObject({ exists: false, writable: true, problem: null, hint: null });
  });

  test('has its own error if it is unreachable', async () => {
    const address = 'git+file:///nowhere/state.git#state';
    const env = { HOME: tempDirectory(), PARTNER_STATE: address };
    const ran = await run(['state', 'show', '-o', 'json'], { env });
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ type: 'state_unavailable', message: expect.stringContaining(address) });
    const path = await run(['state', 'path', '-o', 'json'], { env });
    const hint = expect.stringContaining('git ls-remote');
    expect(path.json()).toMatchObject({ writable: false, problem: expect.stringContaining('nowhere'), hint });
  });

  test('names the file of this machine that cannot be read', async () => {
    const certificates = join(tempDirectory(), 'missing.pem');
    const database = `postgres://ops@db.example.com/main?sslrootcert=${certificates}`;
    const ran = await run(['state', 'show', '--state', database, '-o', 'json']);
    expect(ran.code).toBe(1);
    expect(ran.error()).toMatchObject({
      message: `The certificates of the database cannot be read: ${certificates}`,
      hint: expect.stringContaining('sslrootcert'),
    });
  });

  test('that refuses records can be read, and nothing is created or forgotten, now or later', async () => {
    const sandbox = await service();
    const bare = bareRepository();
    const env = { ...sandbox.env, PARTNER_STATE: `git+file://${bare}#state` };
    const cron = await createCronAgent(sandbox);
    expect((await run(cron.create('daily'), { env })).code).toBe(0);
    const before = await recordTypes(env.PARTNER_STATE);
    const hook = join(bare, 'hooks', 'pre-receive');
    mkdirSync(dirname(hook), { recursive: true });
    const forget = ['cron', 'forget', '--agent', cron.agent_id, '--name', 'daily', '--yes'];
    const show = ['state', 'show'];
    write('pre-receive', '#!/bin/sh\nexit 1\n', dirname(hook));
    execFileSync('chmod', ['+x', hook]);
    for (const [args, code] of [
      [cron.create('weekly'), 8],
      [forget, 8],
      [['cron', 'list'], 0],
      [show, 0],
    ] as const) {
      const ran = await run(args, { env });
      expect(ran.code, ran.stderr).toBe(code);
    }
    rmSync(hook);
    expect(await cron.posted()).toBe(1);
    expect(await recordTypes(env.PARTNER_STATE)).toEqual(before);
    expect((await run(cron.create('daily'), { env })).code).toBe(5);
  });

  test.each([
    ['mysql://ops@db/main', 'cannot be kept at mysql://'],
    ['postgres:/ops:secret@db/main', 'For example: postgres://user@host/database'],
    ['host=db user=ops password=secret dbname=main', 'Write it as postgres://user@host/database'],
    [' host=db password=secret', 'Write it as postgres://user@host/database'],
    ['host = db password = secret', 'Write it as postgres://user@host/database'],
    ['password=secret', 'Write it as postgres://user@host/database'],
    ["host=db password='my secret' dbname=main", 'Write it as postgres://user@host/database'],
    ['git@github.com:acme/ops.git', 'Write it as git+ssh://git@github.com/acme/ops.git#branch'],
    ['postgres://ops:secret@db/main', '--state must not hold a password'],
    ['postgres://ops@db.example.com/main?sslmode=disable', 'must be encrypted'],
    ['git+ssh://git@example.com/ops.git#a..b', 'is not the name of a branch'],
  ])('is rejected for %s: %s', async (address, message) => {
    const ran = await run(['state', 'verify', '--state', address], { env: { HOME: tempDirectory() } });
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect(ran.stderr).not.toContain('secret');
  });

  test.each([
    // A secret with a space before it, or with the quotes of an .env file.
    [' postgres://ops:secret@db/main', 'Remove blanks and quotes around it'],
    ['"postgres://ops:secret@db/main"', 'Remove blanks and quotes around it'],
    ['ops:secret@db.example.com/main', 'does not begin with a scheme'],
    ['postgres://ops:secret%zz@db/main', '% as %25'],
    ['git+ssh://git@example.com/ops.git#a%zz', '% as %25'],
    ['postgres://ops:12/secret@db/main', 'Write @ as %40'],
    ['postgres://ops:?secret@db/main', 'Write @ as %40'],
    ['git+https://ghp_secretsecretsecretsecret@github.com/acme/ops.git', 'must not hold a password'],
  ])('is rejected for %s in PARTNER_STATE without repeating it: %s', async (address, message) => {
    const env = { HOME: tempDirectory(), PARTNER_STATE: address };
    for (const name of ['path', 'verify']) {
      const ran = await run(['state', name], { env });
      expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
      expect(ran.stderr).not.toContain('secret');
    }
  });
});
