import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeRecord, type NewRecord } from '../../src/state/record.ts';
import type { Environment } from '../../src/state/state-location.ts';
import { type RecordStore, readStore, type StateStore } from '../../src/state/store.ts';
import { tempDirectory } from '../support/run.ts';
import { bareRepository, openAt } from '../support/stores.ts';

const record = (id: string): NewRecord => ({ type: 'note', at: '2026-01-01T00:00:00.000Z', id });
const OTHER = { kind: 'other' } as const;

const IDENTITY = {
  GIT_AUTHOR_NAME: 'ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
};

function git(repository: string, args: readonly string[], input?: string): string {
  const env = { ...process.env, ...IDENTITY };
  return execFileSync('git', ['-C', repository, ...args], {
    encoding: 'utf8',
    env,
    input,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** A repository with an empty state. */
async function prepared(repository = bareRepository()): Promise<{ repository: string; address: string }> {
  const address = `git+file://${encodeURI(repository)}#state`;
  const store = await openAt(address, tempDirectory());
  await store.init();
  await store.close();
  return { repository, address };
}

/** Installs a hook of the server. */
function addHook(repository: string, name: string, script: string): void {
  const path = join(repository, 'hooks', name);
  mkdirSync(join(repository, 'hooks'), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

/** The change of a person who edits files on the branch. */
function commitFiles(repository: string, files: Readonly<Record<string, string>>): void {
  const entries = Object.entries(files).map(([name, text]) => {
    const blob = git(repository, ['hash-object', '-w', '--stdin'], text).trim();
    return `100644 blob ${blob}\t${name}\n`;
  });
  const tree = git(repository, ['mktree'], entries.join('')).trim();
  const commit = git(repository, ['commit-tree', tree, '-p', 'state', '-m', 'Edit'], '').trim();
  git(repository, ['update-ref', 'refs/heads/state', commit]);
}

async function idsOf(log: Pick<RecordStore, 'readNew'>): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of log.readNew()) found.push(entry.kind === 'record' ? entry.record.id : entry.kind);
  return found;
}

async function allIds(store: StateStore): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of readStore(store)) found.push(entry.kind === 'record' ? entry.record.id : entry.kind);
  return found;
}

function commits(repository: string): number {
  return Number(git(repository, ['rev-list', '--count', 'state']));
}

describe('a push', () => {
  test('that succeeds although its response is lost is recognized', async () => {
    const { repository, address } = await prepared();
    addHook(
      repository,
      'reference-transaction',
      '[ "$1" = committed ] && [ ! -e cut ] && touch cut && kill -9 $PPID; true',
    );
    const store = await openAt(address, tempDirectory());
    await store.open().append(record('a'), OTHER);
    expect(existsSync(join(repository, 'cut'))).toBe(true);
    expect(await allIds(store)).toEqual(['a']);
    expect(commits(repository)).toBe(2);
    await store.close();
  });

  test('that succeeds late, while it is repeated, is counted once', async () => {
    const { repository, address } = await prepared();
    // The first push is cut off, and succeeds when the second one has looked at the branch.
    addHook(
      repository,
      'update',
      `if [ ! -e first ]; then
  touch first
  (until [ -e second ]; do sleep 0.01; done; git update-ref $1 $3 $2; touch landed) >/dev/null 2>&1 &
  kill -9 $PPID
fi
touch second
until [ -e landed ]; do sleep 0.01; done`,
    );
    const store = await openAt(address, tempDirectory());
    await store.open().append(record('a'), OTHER);
    expect(existsSync(join(repository, 'landed'))).toBe(true);
    expect(await allIds(store)).toEqual(['a']);
    expect(commits(repository)).toBe(2);
    await store.close();
  });

  test('that the server rejects is an error, and changes nothing', async () => {
    const { repository, address } = await prepared();
    addHook(repository, 'pre-receive', 'echo "this branch is protected" >&2; exit 1');
    const store = await openAt(address, tempDirectory());
    await expect(store.open().append(record('a'), OTHER)).rejects.toMatchObject({
      exitCode: 8,
      message: expect.stringContaining('refuses to update branch state'),
      info: { why: expect.stringContaining('this branch is protected') },
    });
    expect(commits(repository)).toBe(1);
    await store.close();
  });

  test('of many processes that start concurrently on a machine without a clone loses nothing', async () => {
    const { address } = await prepared();
    const home = tempDirectory();
    const stores = await Promise.all(Array.from({ length: 6 }, () => openAt(address, home)));
    const firsts = await Promise.all(
      stores.map(async (store, n) => {
        const log = store.open();
        await log.append(record(`r${n}`), OTHER);
        return (await idsOf(log))[0];
      }),
    );
    expect(new Set(firsts).size).toBe(1);
    expect((await allIds(stores[0] as StateStore)).sort()).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', 'r5']);
    await Promise.all(stores.map((store) => store.close()));
    // No incomplete clone is left.
    expect(readdirSync(join(home, '.cache', 'partnerctl', 'git'))).toHaveLength(1);
  });
});

describe('a branch', () => {
  test.each([
    ['deleted', ['update-ref', '-d', 'refs/heads/state'], 'is gone'],
    ['set back', ['update-ref', 'refs/heads/state', 'state~2'], 'no longer contains it'],
  ])('that was %s is rejected by a machine with newer records', async (_how, command, why) => {
    const { repository, address } = await prepared();
    const [writer, home] = [await openAt(address, tempDirectory()), tempDirectory()];
    for (const id of ['a', 'b']) await writer.open().append(record(id), OTHER);
    const reader = await openAt(address, home);
    expect(await allIds(reader)).toEqual(['a', 'b']);
    git(repository, command);
    const refused = { message: expect.stringContaining('was rewritten'), info: { why: expect.stringContaining(why) } };
    await expect(allIds(reader)).rejects.toMatchObject(refused);
    // A later command of the machine, which has only a shallow clone.
    const later = await openAt(address, home);
    await expect(later.open().append(record('c'), OTHER)).rejects.toMatchObject(refused);
    for (const store of [writer, reader, later]) await store.close();
  });

  test('that does not exist is empty, and created with the first record', async () => {
    const { repository } = await prepared();
    const store = await openAt(`git+file://${repository}#new`, tempDirectory());
    expect(await allIds(store)).toEqual([]);
    await store.open().append(record('a'), OTHER);
    expect(await allIds(store)).toEqual(['a']);
    await store.close();
  });

  test('that has lost the file is not an empty state', async () => {
    const { repository, address } = await prepared();
    commitFiles(repository, { 'README.md': 'Hands off.\n' });
    const store = await openAt(address, tempDirectory());
    const refused = { exitCode: 8, message: expect.stringContaining('There is no state at git+file://') };
    await expect(allIds(store)).rejects.toMatchObject(refused);
    await expect(store.open().append(record('a'), OTHER)).rejects.toMatchObject(refused);
    await store.close();
  });

  test('that somebody edits is read from its beginning, keeps its other files, and accepts more records', async () => {
    const { repository, address } = await prepared();
    const store = await openAt(address, tempDirectory());
    const log = store.open();
    await log.append(record('a'), OTHER);
    expect(await idsOf(log)).toEqual(['a']);
    const lines = [encodeRecord(record('b')), '<<<<<<< HEAD', encodeRecord(record('c'))];
    commitFiles(repository, { 'README.md': 'Hands off.\n', 'state.jsonl': lines.join('\n') });
    expect(await idsOf(log)).toEqual(['restart', 'b', 'damaged', 'c']);
    await log.append(record('d'), OTHER);
    // The unterminated line is read again.
    expect(await idsOf(log)).toEqual(['duplicate', 'd']);
    expect(git(repository, ['show', 'state:README.md'])).toBe('Hands off.\n');
    expect(git(repository, ['show', 'state:state.jsonl']).split('\n')).toHaveLength(5);
    await store.close();
  });
});

describe('the git of the user', () => {
  /** A home with settings that change what git does elsewhere. */
  function hostileHome(): { home: string; marks: string } {
    const [home, marks] = [tempDirectory(), join(tempDirectory(), 'ran')];
    const hooks = join(home, 'template', 'hooks');
    mkdirSync(hooks, { recursive: true });
    for (const name of ['pre-push', 'reference-transaction', 'post-update']) {
      writeFileSync(join(hooks, name), `#!/bin/sh\necho ${name} >> ${marks}\nexit 1\n`);
      chmodSync(join(hooks, name), 0o755);
    }
    writeFileSync(
      join(home, '.gitconfig'),
      `[init]\n  templateDir = ${home}/template\n  defaultBranch = other\n[core]\n  autocrlf = true\n
[push]\n  gpgSign = true\n  followTags = true\n  pushOption = secret\n  default = nothing\n  useForceIfIncludes = true
[fetch]\n  prune = true\n  pruneTags = true\n  recurseSubmodules = true\n[commit]\n  gpgSign = true
[submodule]\n  recurse = true\n[push]\n  recurseSubmodules = check\n`,
    );
    return { home, marks };
  }

  test('is used without its hooks, templates, and settings, and does not change a checkout around it', async () => {
    const { address } = await prepared(
      join(tempDirectory(), 'with space & ütf.git').replace(/.*/, (path) => {
        execFileSync('git', ['init', '--quiet', '--bare', path]);
        return path;
      }),
    );
    const { home, marks } = hostileHome();
    const checkout = bareRepository();
    const before = git(checkout, ['config', '--list', '--local']);
    const variables = {
      GIT_DIR: checkout,
      GIT_INDEX_FILE: '/nowhere',
      GIT_DEFAULT_HASH: 'sha256',
      GIT_AUTHOR_DATE: 'x',
    };
    const store = await openAt(address, home, undefined, variables);
    await store.open().append(record('a'), OTHER);
    expect(await allIds(store)).toEqual(['a']);
    await store.close();
    expect(existsSync(marks)).toBe(false);
    expect(git(checkout, ['for-each-ref'])).toBe('');
    expect(git(checkout, ['config', '--list', '--local'])).toBe(before);
  });

  test('works with a repository of SHA-256', async () => {
    const repository = join(tempDirectory(), 'state.git');
    execFileSync('git', ['init', '--quiet', '--bare', '--object-format=sha256', repository]);
    const address = `git+file://${repository}#state`;
    const first = await openAt(address, tempDirectory(), undefined, { GIT_DEFAULT_HASH: 'sha256' });
    await first.init();
    await first.close();
    const store = await openAt(address, tempDirectory());
    await store.open().append(record('a'), OTHER);
    expect(await allIds(store)).toEqual(['a']);
    await store.close();
  });

  /** A directory with this program as git, and no other. */
  function pathWith(script: string | undefined): Environment {
    const PATH = tempDirectory();
    if (script !== undefined) writeFileSync(join(PATH, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    symlinkSync('/bin/sh', join(PATH, 'sh'));
    return { PATH };
  }

  test.each([
    ['is missing', undefined, 'git cannot be started.'],
    ['is too old', "echo 'error: unknown option' >&2; exit 129", 'The installed git is too old.'],
  ])('is named in the error if it %s', async (_why, script, message) => {
    const store = await openAt('git+file:///nowhere#state', tempDirectory(), undefined, pathWith(script));
    await expect(store.open().append(record('a'), OTHER)).rejects.toMatchObject({ message });
  });

  test.each(['git+ssh://-oProxyCommand=touch%20x/state.git', 'git+ssh://-oProxyCommand=x@host/state.git'])(
    'never gets an option for ssh from the URL: %s',
    async (address) => {
      await expect(openAt(address, tempDirectory())).rejects.toMatchObject({
        message: expect.stringContaining('must not start with "-"'),
      });
    },
  );
});

describe('a git command that is killed', () => {
  /** A PATH whose git kills itself instead of running one of its commands, as long as a file named `deadly` exists. */
  function deadlyGit(command: string): { PATH: string; live(): void } {
    const directory = tempDirectory();
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    const kill = `case " $* " in *" ${command} "*) [ -e ${directory}/deadly ] && kill -9 $$;; esac`;
    writeFileSync(join(directory, 'git'), `#!/bin/sh\n${kill}\nexec ${real} "$@"\n`, { mode: 0o755 });
    writeFileSync(join(directory, 'deadly'), '');
    return { PATH: `${directory}:${process.env.PATH}`, live: () => rmSync(join(directory, 'deadly')) };
  }

  test.each([
    // Rewritten history would be repaired by force.
    ['merge-base', 'rewritten history'],
    ['rev-parse', 'a new branch'],
    ['hash-object', 'a bug'],
    ['commit-tree', 'a bug'],
  ])('(%s) is reported as an unavailable state, not as %s', async (command) => {
    const { address } = await prepared();
    const [home, { PATH, live }] = [tempDirectory(), deadlyGit(command)];
    const [reader, writer] = [await openAt(address, home), await openAt(address, tempDirectory())];
    expect(await allIds(reader)).toEqual([]);
    await writer.open().append(record('a'), OTHER);
    const store = await openAt(address, home, undefined, { PATH });
    await expect(store.open().append(record('b'), OTHER)).rejects.toMatchObject({ exitCode: 8 });
    live();
    const next = await openAt(address, home);
    expect((await allIds(next)).toSorted()).toEqual(['a', 'b']);
    for (const each of [reader, writer, store, next]) await each.close();
  });

  test('leaves locks and refs that later commands ignore, and the first one an hour later removes', async () => {
    const { repository, address } = await prepared();
    const home = tempDirectory();
    const use = async (id: string): Promise<void> => {
      const store = await openAt(address, home);
      await store.open().append(record(id), OTHER);
      await store.close();
    };
    await use('a');
    const cache = join(home, '.cache', 'partnerctl', 'git');
    const clone = join(cache, readdirSync(cache)[0] ?? '');
    const tip = git(repository, ['rev-parse', 'state']).trim();
    const left = [
      ...['shallow.lock', 'packed-refs.lock', 'HEAD.lock', 'refs/partnerctl/state.lock'].map((name) =>
        join(clone, name),
      ),
      join(clone, 'refs', 'fetched', 'killed'),
      `${clone}-killed`,
    ];
    for (const path of left) writeFileSync(path, path.endsWith('.lock') ? '' : `${tip}\n`);
    await use('b');
    expect(left.filter((path) => !existsSync(path))).toEqual([]);
    const earlier = new Date(Date.now() - 3_700_000);
    for (const path of left) utimesSync(path, earlier, earlier);
    await use('c');
    await use('d');
    expect(left.filter((path) => existsSync(path))).toEqual([]);
    const seen = git(clone, ['rev-parse', 'refs/partnerctl/state']);
    expect(seen).toBe(git(repository, ['rev-parse', 'state']));
    expect(git(repository, ['show', 'state:state.jsonl']).split('\n')).toHaveLength(5);
  });
});

test('a record whose push is interrupted stays in a file, and the next command publishes it', async () => {
  const { repository, address } = await prepared();
  addHook(repository, 'pre-receive', 'while [ ! -e done ]; do touch started; sleep 0.01; done');
  const [home, controller] = [tempDirectory(), new AbortController()];
  const store = await openAt(address, home, controller.signal);
  await store.check();
  const appended = store.open().append(record('a'), OTHER);
  await expect.poll(() => existsSync(join(repository, 'started'))).toBe(true);
  controller.abort(new Error('Interrupted.'));
  await expect(appended).rejects.toThrow('Interrupted.');
  const local = join(home, '.local', 'state', 'partnerctl');
  expect(readdirSync(local).filter((name) => name.includes('recovery'))).toHaveLength(1);
  await store.close();
  writeFileSync(join(repository, 'done'), '');
  const next = await openAt(address, home);
  expect(await idsOf(next.open())).toEqual(['a']);
  expect(readdirSync(local)).toEqual([]);
  await next.close();
}, 20_000);
