import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCronAgent } from '../support/cron.ts';
import { encodeVersion1 } from '../support/earlier-version.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { bareRepository } from '../support/stores.ts';

const AT = '2026-01-02T03:04:05.000Z';

function line(type: string, id: string, fields: Readonly<Record<string, unknown>> = {}): string {
  return encodeVersion1({ ...fields, type, at: AT, id });
}

/** A complete line of a later format. */
function newerLine(): string {
  const covered = '{"v":7,"shape":["unknown"]';
  return `${covered},"sum":"${hash('sha256', covered, 'hex').slice(0, 16)}"}`;
}

const SPACE = line('space', '1', { origin: 'https://api.test/v1', external_space_id: 'acme-001', space_id: 'spc_1' });
const RESERVED = line('reserve', '2', { key: 'k1', agent_id: 'agt_1', content_hash: 'abc' });
const CREATED = line('created', '3', { key: 'k1', cron_job_id: 'job_1' });
const OTHER = line('reserve', '4', { key: 'k2', agent_id: 'agt_1' });

/** Every way in which a line can be unusable, and the reason that is reported. */
const LINES: readonly (readonly [line: string | Buffer, why: string | undefined])[] = [
  [SPACE, undefined],
  ['<<<<<<< ours', 'a merge conflict marker'],
  [RESERVED, undefined],
  ['=======', 'a merge conflict marker'],
  ['>>>>>>> theirs', 'a merge conflict marker'],
  [newerLine(), 'written by a newer version of this program (format 7)'],
  [SPACE, 'the same record as on an earlier line; it counts once'],
  [RESERVED.replace('k1', 'k9'), 'changed after it was written: its checksum does not match'],
  [Buffer.from([0x7b, 0xff, 0x7d]), 'not valid UTF-8'],
  ['hello', 'not a whole record: cut short, or overwritten'],
  [`{"v":1,"fill":"${'x'.repeat(1024 * 1024)}"}`, 'longer than 1048576 bytes'],
  [CREATED, undefined],
  [OTHER.slice(0, -20), 'not a whole record: cut short, or overwritten'],
];

/** A file with all of them; the last line is torn. */
function damagedFile(): string {
  const bytes = LINES.flatMap(([text], index) => [Buffer.from(index === 0 ? '' : '\n'), Buffer.from(text)]);
  return write('state.jsonl', Buffer.concat(bytes));
}

function soundFile(): string {
  return write('state.jsonl', [SPACE, RESERVED, CREATED, OTHER].map((each) => `\n${each}\n`).join(''));
}

describe('state path', () => {
  test('prints only the path, without a service or a file, and creates neither', async () => {
    const HOME = tempDirectory();
    const path = join(HOME, '.local/state/partnerctl/state.jsonl');
    for (const options of [{}, { columns: 80 }]) {
      expect(await run(['state', 'path'], { env: { HOME }, ...options })).toMatchObject({
        code: 0,
        stdout: `${path}\n`,
        stderr: '',
      });
    }
    const ran = await run(['state', 'path', '-o', 'json'], { env: { HOME } });
    expect(ran.json()).toEqual({
      path,
      from: 'default',
      exists: false,
      bytes: null,
      writable: true,
      problem: null,
      hint: null,
    });
    const verified = await run(['state', 'verify', '-o', 'json'], { env: { HOME } });
    expect(verified.json()).toMatchObject({ exists: false, sound: true });
    expect((await run(['state', 'path', '-o', 'json'], { env: { HOME } })).json()).toMatchObject({ exists: false });
  });

  test('names the setting that decides the path', async () => {
    const XDG_STATE_HOME = tempDirectory();
    const PARTNER_STATE = soundFile();
    const decided = async (args: string[], env: Record<string, string>) =>
      (await run(['state', 'path', '-o', 'json', ...args], { env })).json();
    expect(await decided([], { XDG_STATE_HOME })).toMatchObject({
      path: join(XDG_STATE_HOME, 'partnerctl/state.jsonl'),
      from: 'XDG_STATE_HOME',
    });
    expect(await decided([], { XDG_STATE_HOME, PARTNER_STATE })).toEqual({
      path: PARTNER_STATE,
      from: 'PARTNER_STATE',
      exists: true,
      bytes: [SPACE, RESERVED, CREATED, OTHER].reduce((sum, each) => sum + each.length + 2, 0),
      writable: true,
      problem: null,
      hint: null,
    });
    expect(await decided(['--state', 'mine.jsonl'], { PARTNER_STATE })).toMatchObject({
      path: 'mine.jsonl',
      from: '--state',
      exists: false,
    });
  });

  test('prints an unusable path with a warning', async () => {
    const directory = tempDirectory();
    const inFile = join(write('file', ''), 'state.jsonl');
    for (const [path, problem, exists] of [
      [directory, 'It is a directory.', true],
      [inFile, 'A part of its path is a file, not a directory.', false],
    ] as const) {
      const plain = await run(['state', 'path', '--state', path]);
      expect(plain).toMatchObject({ code: 0, stdout: `${path}\n`, stderr: expect.stringContaining(problem) });
      const ran = await run(['state', 'path', '--state', path, '-o', 'json']);
      expect(ran.json()).toMatchObject({ path, exists, bytes: null, writable: false, problem });
    }
  });

  test('reports a path below a file as not writable', async () => {
    const path = join(write('file', ''), 'deep', 'state.jsonl');
    expect((await run(['state', 'path', '--state', path, '-o', 'json'])).json()).toMatchObject({ writable: false });
  });
});

describe('state show', () => {
  test('shows the records in order, with every field in JSON', async () => {
    const path = soundFile();
    const rows = await run(['state', 'show', '--state', path]);
    expect(rows).toMatchObject({ code: 0, stderr: '' });
    expect(rows.stdout).toBe(
      [
        `2\t${AT}\tspace\texternal_space_id=acme-001 space_id=spc_1\n`,
        `4\t${AT}\treserve\tagent_id=agt_1 key=k1\n`,
        `6\t${AT}\tcreated\tcron_job_id=job_1 key=k1\n`,
        `8\t${AT}\treserve\tagent_id=agt_1 key=k2\n`,
      ].join(''),
    );
    expect((await run(['state', 'show', '--state', path, '-o', 'json'])).json<unknown[]>()[1]).toEqual({
      line: 4,
      type: 'reserve',
      at: AT,
      id: '2',
      key: 'k1',
      agent_id: 'agt_1',
      content_hash: 'abc',
    });
    expect((await run(['state', 'show', '--state', path, '--color', 'never'], { columns: 100 })).stdout).toMatch(
      /^LINE +AT +TYPE +ABOUT\n/,
    );
  });

  test('filters by type and key', async () => {
    const path = soundFile();
    const lines = async (...args: string[]) =>
      (await run(['state', 'show', '--state', path, '--query', '[].line', '-o', 'json', ...args])).json();
    expect(await lines('--type', 'reserve')).toEqual([4, 8]);
    expect(await lines('--key', 'k1')).toEqual([4, 6]);
    expect(await lines('--key', 'k1', '--type', 'created')).toEqual([6]);
    expect(await lines('--type', 'cron')).toEqual([]);
    expect(await lines('--type', 'cron.created')).toEqual([]);
  });

  test.each([
    ['bogus', /^Use one of: space, cron, .*cron\.created/],
    ['crno', /^Did you mean cron\?$/],
    ['reserv', /^Did you mean reserve\?$/],
  ])('refuses a type that no record can have: %s', async (type, hint) => {
    const ran = await run(['state', 'show', '--state', soundFile(), '--type', type, '-o', 'json']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error()).toMatchObject({
      message: `No record has the type ${JSON.stringify(type)}.`,
      hint: expect.stringMatching(hint),
    });
  });

  test('shows what a run recorded', async () => {
    const it = await service();
    expect((await run(['provision', write('a.yaml', manifest('acme-001'))], { env: it.env })).code).toBe(0);
    const ran = await run(['state', 'show', '-o', 'json'], { env: it.env });
    expect(ran.json()).toMatchObject([
      { line: 2, type: 'space.reserved', external_space_id: 'acme-001' },
      { line: 4, type: 'space.created', external_space_id: 'acme-001', space_id: expect.any(String) },
    ]);
  });

  test('shows every intact record of a damaged file once and warns about the other lines', async () => {
    const path = damagedFile();
    const ran = await run(['state', 'show', '--state', path, '-o', 'json', '-q']);
    expect(ran.code).toBe(0);
    expect(ran.json<{ line: number; id: string }[]>().map((record) => [record.line, record.id])).toEqual([
      [1, '1'],
      [3, '2'],
      [12, '3'],
    ]);
    const warnings = LINES.flatMap(([, why], index) =>
      why === undefined || why.startsWith('the same') ? [] : [`warning: ${path}:${index + 1} cannot be used: ${why}\n`],
    );
    expect(warnings).toHaveLength(9);
    expect(ran.stderr).toBe(warnings.join(''));
    const filtered = await run(['state', 'show', '--state', path, '--key', 'k2']);
    expect(filtered).toMatchObject({ code: 0, stdout: '', stderr: ran.stderr });
  });

  test('prints at most 20 warnings', async () => {
    const path = write('state.jsonl', `${'broken\n'.repeat(1_000)}${SPACE}\n`);
    const ran = await run(['state', 'show', '--state', path]);
    expect(ran.stdout).toContain('1001\t');
    expect(ran.stderr.trimEnd().split('\n')).toHaveLength(21);
    expect(ran.stderr).toContain('980 more lines are ignored; `partnerctl state verify` names them all.');
  });

  test('says that there is no file or no such record', async () => {
    const missing = join(tempDirectory(), 'state.jsonl');
    expect(await run(['state', 'show', '--state', missing], { columns: 80 })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `There is no state yet: ${missing}\n`,
    });
    expect(await run(['state', 'show', '--state', soundFile(), '--key', 'x'], { columns: 80 })).toMatchObject({
      code: 0,
      stderr: 'The state has no such record.\n',
    });
  });
});

interface Verified {
  readonly path: string;
  readonly records: Record<string, number>;
  readonly duplicates: number[];
  readonly newer: { line: number; version: number }[];
  readonly damaged: { line: number; why: string }[];
  readonly sound: boolean;
}

describe('state verify', () => {
  test('exits with 0 for an intact file', async () => {
    const path = soundFile();
    const ran = await run(['state', 'verify', '--state', path, '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toEqual({
      path,
      exists: true,
      records: { space: 1, reserve: 2, created: 1 },
      duplicates: [],
      newer: [],
      damaged: [],
      sound: true,
    });
    expect(await run(['state', 'verify', '--state', path])).toMatchObject({
      code: 0,
      stdout: `${path}\n4 records: 1 space, 2 reserve, 1 created\nall lines can be used\n`,
      stderr: '',
    });
  });

  test('breaks no word and no path of its report in a narrow terminal', async () => {
    const path = soundFile();
    const ran = await run(['state', 'verify', '--state', path], { columns: 24 });
    expect(ran.stdout).toBe(`${path}\n4 records: 1 space, 2\n  reserve, 1 created\nall lines can be used\n`);
  });

  test('exits with 0 for a file with lines repeated by a merge', async () => {
    const path = write('state.jsonl', [SPACE, RESERVED, SPACE, CREATED, SPACE, RESERVED, ''].join('\n'));
    const ran = await run(['state', 'verify', '--state', path, '-o', 'json']);
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject({
      records: { space: 1, reserve: 1, created: 1 },
      duplicates: [3, 5, 6],
      sound: true,
    });
  });

  test('exits with 1 for a damaged file, and names every unusable line', async () => {
    const path = damagedFile();
    const ran = await run(['state', 'verify', '--state', path, '-o', 'json']);
    expect(ran.code).toBe(1);
    const verified = ran.json<Verified>();
    expect(verified).toMatchObject({
      records: { space: 1, reserve: 1, created: 1 },
      duplicates: [7],
      newer: [{ line: 6, version: 7 }],
      sound: false,
    });
    expect(verified.damaged).toEqual(
      [2, 4, 5, 8, 9, 10, 11, 13].map((number) => ({ line: number, why: LINES[number - 1]?.[1] })),
    );
    expect(ran.error()).toMatchObject({
      type: 'local',
      message: `The state has lines that cannot be used: ${path}`,
      hint: expect.stringMatching(/merge conflict markers.*\n.*from a copy.*\nUpdate partnerctl/),
    });
    const people = await run(['state', 'verify', '--state', path], { columns: 80 });
    expect(people.code).toBe(1);
    const numbered = LINES.flatMap(([, why], index) => (why === undefined ? [] : [`line ${index + 1}: ${why}`]));
    expect(people.stdout.trimEnd().split('\n')).toEqual([
      path,
      '3 records: 1 space, 1 reserve, 1 created',
      '1 duplicate',
      ...numbered,
      'not all lines can be used',
    ]);
    expect(people.stderr).toContain('8 lines cannot be used.');
    expect(people.stderr).toContain('1 record came from a newer version');
  });

  test.each([
    [
      'markers',
      ['<<<<<<< ours', SPACE, '=======', CREATED, '>>>>>>> theirs'],
      /^Remove only the merge conflict markers.*$/,
    ],
    ['a newer record', [SPACE, newerLine()], /^Update partnerctl.*$/],
    ['a torn end', [SPACE, CREATED.slice(0, 30)], /^Restore the complete lines.*$/],
  ])('hints only at the damage found: %s', async (_, lines, hint) => {
    const ran = await run(['state', 'verify', '--state', write('state.jsonl', lines.join('\n')), '-o', 'json']);
    expect(ran.code).toBe(1);
    expect(ran.error().hint).toMatch(hint);
  });

  test('counts record types with any name', async () => {
    const path = write(
      'state.jsonl',
      ['__proto__', 'constructor'].map((type, id) => line(type, String(id))).join('\n'),
    );
    const ran = await run(['state', 'verify', '--state', path, '-o', 'json']);
    expect(ran.stdout).toContain('"__proto__": 1');
    expect(ran.json()).toMatchObject({ sound: true });
  });
});

describe('a path that is not a state file', () => {
  const places: readonly (readonly [what: string, make: () => string, why: string])[] = [
    ['a directory', tempDirectory, 'It is a directory.'],
    [
      'a pipe',
      () => {
        const path = join(tempDirectory(), 'pipe');
        execFileSync('mkfifo', [path]);
        return path;
      },
      'It is a device, a pipe, or a socket.',
    ],
    ['a device', () => '/dev/null', 'It is a device, a pipe, or a socket.'],
    [
      'a link that leads nowhere',
      () => {
        const path = join(tempDirectory(), 'link');
        symlinkSync(join(dirname(path), 'missing', 'state.jsonl'), path);
        return path;
      },
      'It is a symbolic link to a path that does not exist.',
    ],
    [
      'a link to itself',
      () => {
        const path = join(tempDirectory(), 'link');
        symlinkSync(path, path);
        return path;
      },
      'Its symbolic links form a loop.',
    ],
  ];

  test.each(places)('is reported as %s', async (_, make, why) => {
    const path = make();
    for (const args of ['show', 'verify']) {
      const ran = await run(['state', args, '--state', path, '-o', 'json']);
      expect(ran).toMatchObject({ code: 1, stdout: '' });
      expect(ran.error()).toMatchObject({
        type: 'local',
        message: `The state file could not be read: ${path}`,
        hint: expect.stringContaining('--state'),
        details: { why: expect.stringContaining(why) },
      });
    }
    expect(await run(['state', 'path', '--state', path])).toMatchObject({
      code: 0,
      stdout: `${path}\n`,
      stderr: expect.stringContaining(why),
    });
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

/** Lets a repository refuse all pushes. @returns a function that allows them again */
function refusePushes(repository: string): () => void {
  const hook = join(repository, 'hooks', 'pre-receive');
  mkdirSync(dirname(hook), { recursive: true });
  writeFileSync(hook, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  return () => rmSync(hook);
}

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
    expect((await run(['state', 'verify', '-o', 'json'], { env })).json()).toMatchObject({
      path: address,
      sound: true,
    });
    expect((await run(['state', 'show'], { env, columns: 80 })).stderr).toBe('The state has no such record.\n');
  });

  test('says so if the branch has other files', async () => {
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

  test('imports the records of a file, and exports them again', async () => {
    const HOME = tempDirectory();
    const [file, address, copy] = [soundFile(), repository(), join(HOME, 'copy.jsonl')];
    const copied = async (from: string, to: string) =>
      (await run(['state', 'copy', from, to, '-o', 'json'], { env: { HOME } })).json<{
        copied: number;
        present: number;
      }>();
    const first = await copied(file, address);
    expect(first).toMatchObject({ from: file, to: address, present: 0 });
    expect(await copied(file, address)).toMatchObject({ copied: 0, present: first.copied });
    expect(await copied(address, copy)).toMatchObject({ copied: first.copied });
    const shown = async (state: string) =>
      (await run(['state', 'show', '--state', state, '-o', 'json'])).json<{ id: string }[]>();
    expect((await shown(copy)).map(({ id }) => id)).toEqual((await shown(file)).map(({ id }) => id));
  });

  test.each([
    ['a file', () => join(tempDirectory(), 'mistyped.jsonl')],
    ['a branch', () => `${repository()}-mistyped`],
  ])('is not copied from %s that does not exist', async (_, mistyped) => {
    const [from, to] = [mistyped(), join(tempDirectory(), 'copy.jsonl')];
    const ran = await run(['state', 'copy', from, to], { env: { HOME: tempDirectory() } });
    expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining(`There is no state at ${from}.`) });
    expect(existsSync(to)).toBe(false);
  });

  test('is reported as missing if its branch does not exist', async () => {
    const env = { HOME: tempDirectory(), PARTNER_STATE: `${repository()}-mistyped` };
    const shown = await run(['state', 'show'], { env, columns: 200 });
    expect(shown.stderr).toBe(`There is no state yet: ${env.PARTNER_STATE}\n`);
    const path = await run(['state', 'path', '-o', 'json'], { env });
    expect(path.json()).toMatchObject({ exists: false, writable: true, problem: null, hint: null });
  });

  test('is not copied from a file with a damaged line', async () => {
    const file = join(tempDirectory(), 'state.jsonl');
    writeFileSync(file, '{"v":1,"type":"cron.created"\n');
    const ran = await run(['state', 'copy', file, repository()], { env: { HOME: tempDirectory() } });
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${file}:1 is damaged, so nothing was copied.`),
    });
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

  test('names the file or the directory of this machine that is in the way', async () => {
    const HOME = tempDirectory();
    const certificates = join(HOME, 'missing.pem');
    const database = `postgres://ops@db.example.com/main?sslrootcert=${certificates}`;
    const withoutFile = await run(['state', 'show', '--state', database, '-o', 'json'], { env: { HOME } });
    expect(withoutFile.code).toBe(1);
    expect(withoutFile.error()).toMatchObject({
      message: `The certificates of the database cannot be read: ${certificates}`,
      hint: expect.stringContaining('sslrootcert'),
    });
    const XDG_CACHE_HOME = write('file', '');
    const env = { HOME, XDG_CACHE_HOME, PARTNER_STATE: repository() };
    const withoutDirectory = await run(['state', 'show', '-o', 'json'], { env });
    expect(withoutDirectory.code).toBe(8);
    expect(withoutDirectory.error()).toMatchObject({
      message: expect.stringContaining(`git cannot make a repository in ${XDG_CACHE_HOME}`),
      hint: expect.stringContaining('XDG_CACHE_HOME'),
    });
  });

  test('is still read after a push that was refused', async () => {
    const it = await service();
    const bare = bareRepository();
    const env = { ...it.env, PARTNER_STATE: `git+file://${bare}#state` };
    expect((await run(['state', 'init'], { env })).code).toBe(0);
    const path = write('acme.yaml', manifest('acme'));
    expect((await run(['provision', path], { env })).code).toBe(0);
    const [{ space_id } = { space_id: '' }] = await it.spaces();
    const [{ agent_id } = { agent_id: '' }] = await it.agents(space_id);
    const job = ['--agent', agent_id, '--name', 'daily', '--instructions', 'Go.', '--schedule', '0 9 * * *'];
    const allow = refusePushes(bare);
    for (const _ of ['first', 'again']) expect((await run(['cron', 'create', ...job], { env })).code).toBe(8);
    for (const args of [
      ['provision', path],
      ['plan', path],
      ['cron', 'list'],
      ['state', 'show'],
    ]) {
      const ran = await run(args, { env });
      expect(ran.code).toBe(0);
      expect(
        ran.stderr.match(/warning: The state is read without what an earlier command could not record/g),
      ).toHaveLength(1);
      expect(ran.stderr).toContain('git server refuses to update branch state');
    }
    expect((await it.posts()).filter(({ path: to }) => to.includes('cron'))).toEqual([]);
    allow();
    expect((await run(['cron', 'create', ...job], { env })).code).toBe(0);
  });

  test('does not forget a job later if that was refused', async () => {
    const it = await service();
    const bare = bareRepository();
    const env = { ...it.env, PARTNER_STATE: `git+file://${bare}#state` };
    const cron = await createCronAgent(it);
    expect((await run(cron.create('daily'), { env })).code).toBe(0);
    const forget = ['cron', 'forget', '--agent', cron.agent_id, '--name', 'daily', '--yes'];
    const allow = refusePushes(bare);
    expect((await run(forget, { env })).code).toBe(8);
    allow();
    expect((await run(cron.create('daily'), { env })).code).toBe(5);
    expect((await run(forget, { env })).code).toBe(0);
    expect((await run(['state', 'show', '--type', 'cron', '-o', 'json'], { env })).json()).toHaveLength(3);
  });

  test.each([
    ['mysql://ops@db/main', 'cannot be kept at mysql://'],
    ['postgres:/ops:secret@db/main', 'needs two slashes'],
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
    ['postgres://ops:secret%zz@db/main', 'Write a percent sign as %25'],
    ['git+ssh://git@example.com/ops.git#a%zz', 'Write a percent sign as %25'],
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

  test('comes from the profile unless a flag or variable names one', async () => {
    const HOME = tempDirectory();
    const file = soundFile();
    const login = ['login', '--base-url', 'https://api.example.com/v1', '--no-verify', '--state', file];
    expect(await run(login, { env: { HOME, PARTNER_TOKEN: 'token-of-a-profile' } })).toMatchObject({ code: 0 });
    expect((await run(['state', 'path', '-o', 'json'], { env: { HOME } })).json()).toMatchObject({
      path: file,
      from: 'profile',
    });
    const other = await run(['state', 'path', '-o', 'json'], { env: { HOME, PARTNER_STATE: '/other.jsonl' } });
    expect(other.json()).toMatchObject({ path: '/other.jsonl', from: 'PARTNER_STATE' });
  });
});

describe('state blame', () => {
  const by = { user: 'ada', host: 'runner-7', version: '1.2.3', run: 'https://ci.example.com/runs/7' };

  function blamedFile(): string {
    const path = join(tempDirectory(), 'state.jsonl');
    const records = [
      { type: 'cron.reserved', at: AT, id: '1', key: 'k1', agent_id: 'agt_1', name: 'daily', by },
      { type: 'cron.created', at: AT, id: '2', key: 'k1', agent_id: 'agt_1', name: 'daily', cron_job_id: 'cron_1', by },
      { type: 'cron.forgotten', at: AT, id: '3', key: 'k1', records: ['2'] },
      {
        type: 'space.created',
        at: AT,
        id: '4',
        key: 's1',
        external_space_id: 'acme',
        space_id: 'spc_1',
        agents: [{ agent_id: 'agt_1', key: 'a1' }],
      },
      {
        type: 'cron.created',
        at: AT,
        id: '5',
        key: 'k2',
        agent_id: 'agt_2',
        name: 'weekly',
        cron_job_id: 'cron_2',
        by,
      },
      { type: 'upload.done', at: AT, id: '6', key: 'u1', filename: 'faq.pdf', upload_id: 'att_1', by },
    ];
    writeFileSync(path, records.map((record) => `${encodeVersion1(record)}\n`).join(''));
    return path;
  }

  test.each([
    ['cron_1', ['1', '2', '3']],
    ['name:daily', ['1', '2', '3']],
    ['agt_1', ['1', '2', '3', '4']],
    ['ext:acme', ['4']],
    ['att_1', ['6']],
    ['faq.pdf', ['6']],
  ])('finds every record by %s', async (what, expected) => {
    const ran = await run(['state', 'blame', what, '--state', blamedFile(), '-o', 'json']);
    expect(ran.json<{ id: string }[]>().map(({ id }) => id)).toEqual(expected);
  });

  test('shows who, when, and in which run', async () => {
    const ran = await run(['state', 'blame', 'cron_1', '--state', blamedFile(), '-o', 'json']);
    expect(ran.json<unknown[]>()[1]).toEqual({
      at: AT,
      type: 'cron.created',
      about: 'daily',
      object_id: 'cron_1',
      key: 'k1',
      id: '2',
      ...by,
    });
    const text = await run(['state', 'blame', 'cron_1', '--state', blamedFile()]);
    expect(text.stdout).toContain(`${AT}\tcron.created\tdaily\tada@runner-7\thttps://ci.example.com/runs/7\n`);
    expect(text.stdout).toContain('not recorded');
  });

  test('exits with 4 for anything that the state does not know', async () => {
    expect(await run(['state', 'blame', 'cron_9', '--state', blamedFile()])).toMatchObject({ code: 4 });
  });
});
