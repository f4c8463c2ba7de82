import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CERTIFICATE, KEY } from '../support/certificate.ts';
import { type Cron, createCronAgent } from '../support/cron.ts';
import { processesUsing } from '../support/git-kill.ts';
import {
  type GitHttpOptions,
  type GitRequest,
  type GitServer,
  type GitSshServer,
  hasGitHttp,
  hasSshd,
  startGitHttp,
  startGitSsh,
} from '../support/git-servers.ts';
import {
  hasPgBouncer,
  type PostgresServer,
  postgresPrograms,
  startCuttingProxy,
  startPgBouncer,
  startPostgres,
} from '../support/postgres.ts';
import { start } from '../support/program.ts';
import { type Ran, run, tempDirectory } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';
import { readState } from '../support/state-file.ts';
import { bareRepository, prepared } from '../support/stores.ts';
import { findClosedPort, listen, UNRESOLVABLE_HOST } from '../support/tcp-server.ts';

/* What the operators of a shared state meet: servers that refuse, that lose responses, crash, or say nothing. */

type Variables = Readonly<Record<string, string | undefined>>;

interface Site {
  readonly sandbox: Service;
  readonly cron: Cron;
  /** Runs a command with the state, on a machine that has not used it before unless HOME says which. */
  run(args: readonly string[], machine?: Variables): Promise<Ran>;
  /** Creates a job. */
  create(name: string, machine?: Variables): Promise<Ran>;
  /** Checks that each job exists once, and that the state has each, and nothing that cannot be read. */
  expectJobs(...names: string[]): Promise<void>;
}

/** A service, and a state for its jobs. */
async function site(address: string, variables: Variables = {}): Promise<Site> {
  const sandbox = await service();
  const cron = await createCronAgent(sandbox);
  const common = { PATH: process.env.PATH, ...variables };
  const act: Site['run'] = (args, machine = {}) =>
    run([...args, '--state', address], { env: { ...sandbox.env, HOME: tempDirectory(), ...common, ...machine } });
  return {
    sandbox,
    cron,
    run: act,
    create: (name, machine) => act(cron.create(name), machine),
    async expectJobs(...names) {
      const jobs = await cron.jobs();
      expect(jobs.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
      const { records, warnings } = await readState(address, common);
      const ids = records.flatMap(({ cron_job_id }) => cron_job_id ?? []);
      expect(ids.toSorted()).toEqual(jobs.map(({ cron_job_id }) => cron_job_id).toSorted());
      expect(warnings).toBe('');
    },
  };
}

/** What a command that failed says: its exit code, the message, the reason, and the hint. */
function failureOf({ code, stderr }: Pick<Ran, 'code' | 'stderr'>): string {
  const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  return [code, error.message, error.details?.why, error.hint].join(' | ');
}

/** Creates a job where that must be refused before anything is sent. @returns what the command says */
async function refusalAt(address: string, variables: Variables = {}): Promise<string> {
  const { create, cron } = await site(address, variables);
  const ran = await create('daily');
  expect(await cron.posted()).toBe(0);
  return failureOf(ran);
}

const git = (repository: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] }).trim();

const pushes = (repository: string): number => Number(git(repository, 'rev-list', '--count', 'state'));

/** A repository with an empty state. */
async function branch(
  repository = bareRepository(),
  variables?: Readonly<Record<string, string>>,
): Promise<{ repository: string; address: string }> {
  return { repository, address: await prepared(`git+file://${encodeURI(repository)}#state`, variables) };
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
  const checkout = tempDirectory();
  execFileSync('git', ['clone', '--quiet', '--branch', 'state', repository, checkout]);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(checkout, name), text);
  git(checkout, 'add', '--all');
  git(checkout, '-c', 'user.name=ada', '-c', 'user.email=ada@example.com', 'commit', '--quiet', '-m', 'Edit');
  git(checkout, 'push', '--quiet', 'origin', 'state');
}

describe('A push to a shared state', () => {
  test('that succeeds although its response is lost counts once', async () => {
    const { repository, address } = await branch();
    const cutFirst = '[ "$1" = committed ] && [ ! -e cut ] && touch cut && kill -9 $PPID; true';
    addHook(repository, 'reference-transaction', cutFirst);
    const { create, expectJobs } = await site(address);
    expect(await create('daily')).toMatchObject({ code: 0 });
    expect(existsSync(join(repository, 'cut'))).toBe(true);
    await expectJobs('daily');
    // The empty state, the reservation, and the job.
    expect(pushes(repository)).toBe(3);
  });

  test('that succeeds late, while it is repeated, counts once', async () => {
    const { repository, address } = await branch();
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
    const { create, expectJobs } = await site(address);
    expect(await create('daily')).toMatchObject({ code: 0 });
    expect(existsSync(join(repository, 'landed'))).toBe(true);
    await expectJobs('daily');
    expect(pushes(repository)).toBe(3);
  });

  test('that a protected branch refuses prevents every request, and is reported with what the server says', async () => {
    const { repository, address } = await branch();
    addHook(repository, 'pre-receive', 'echo "this branch is protected" >&2; exit 1');
    expect(await refusalAt(address)).toMatch(/^8 \| .*refuses to update branch state.*this branch is protected/s);
    expect(pushes(repository)).toBe(1);
  });

  test('of six processes that start at once on a machine without a clone loses nothing', async () => {
    const { address } = await branch();
    const { run, create, expectJobs } = await site(address);
    const names = Array.from({ length: 6 }, (_, n) => `job${n}`);
    const machine = { HOME: tempDirectory() };
    const all = await Promise.all(names.map((name) => create(name, machine)));
    for (const ran of all) expect(ran.code, ran.stderr).toBe(0);
    await expectJobs(...names);
    expect((await run(['state', 'verify'], machine)).code).toBe(0);
  });

  test('is shared by the jobs, spaces, and files of one command', async () => {
    const { repository, address } = await branch();
    const { sandbox, cron, run } = await site(address);
    const lines = Array.from(
      { length: 100 },
      (_, n) => `  - { name: job${n}, instructions: x, schedule: '0 9 * * *' }`,
    );
    const jobs = write('jobs.yaml', `agent: ${cron.agent_id}\njobs:\n${lines.join('\n')}\n`);
    expect(await run(['cron', 'create', '-f', jobs])).toMatchObject({ code: 0 });
    expect(await cron.jobs()).toHaveLength(100);
    const first = pushes(repository);
    expect(first).toBeLessThanOrEqual(3);

    const files = tempDirectory();
    for (let n = 0; n < 60; n += 1) writeFileSync(join(files, `f${n}.txt`), `content ${n}`);
    expect(await run(['upload', files, '--recursive'])).toMatchObject({ code: 0 });
    expect((await sandbox.admin('GET', '/uploads')).json.uploads).toHaveLength(60);
    const second = pushes(repository);
    expect(second - first).toBeLessThanOrEqual(2);

    const two = ['a', 'b'].map((name) => `{ name: ${name}, instructions: x, schedule: '0 9 * * *' }`);
    const agent = `"Support", chat: {}, cron: [${two}] }`;
    const spaces = Array.from({ length: 30 }, (_, n) => manifest(`acme-${n}`).replace('"Support" }', agent));
    const ran = await run(['provision', write('spaces.yaml', spaces.join('---\n'))]);
    expect(ran.code, ran.stderr).toBe(0);
    expect(await cron.jobs()).toHaveLength(160);
    expect(pushes(repository) - second).toBeLessThanOrEqual(5);
  });

  test('does not cause the requests that were reserved with it once a failure stops the run', async () => {
    const { address } = await branch();
    const { sandbox, cron, run } = await site(address);
    await sandbox.faults({ kind: 'status', status: 402, on: 'POST' });
    const lines = Array.from({ length: 8 }, (_, n) => `  - { name: job${n}, instructions: x, schedule: '0 9 * * *' }`);
    const jobs = write('jobs.yaml', `agent: ${cron.agent_id}\njobs:\n${lines.join('\n')}\n`);
    expect((await run(['cron', 'create', '-f', jobs])).code).toBe(6);
    expect((await sandbox.posts()).length).toBeLessThanOrEqual(4);
    const { records } = await readState(address, { PATH: process.env.PATH });
    const types = records.map(({ type }) => type);
    expect(types.filter((type) => type.endsWith('.reserved'))).toHaveLength(8);
    expect(types.filter((type) => type.endsWith('.released'))).toHaveLength(8);
  });
});

describe('A branch with a state', () => {
  test.each([
    ['deleted', ['update-ref', '-d', 'refs/heads/state'], 'is gone'],
    ['set back', ['update-ref', 'refs/heads/state', 'state~2'], 'no longer contains it'],
  ])('that was %s is refused by a machine that has seen more', async (_how, command, why) => {
    const { repository, address } = await branch();
    const { create, cron, run } = await site(address);
    const machine = { HOME: tempDirectory() };
    expect((await create('daily', machine)).code).toBe(0);
    expect((await create('weekly')).code).toBe(0);
    expect((await run(['state', 'verify'], machine)).code).toBe(0);
    git(repository, ...command);
    const refused = failureOf(await create('hourly', machine));
    expect(refused).toMatch(/^1 \| .*was rewritten/);
    expect(refused).toContain(why);
    expect(await cron.idsOf('hourly')).toEqual([]);
  });

  test('that does not exist is created with the first record', async () => {
    const repository = bareRepository();
    const { create, expectJobs } = await site(`git+file://${repository}#new`);
    const ran = await create('daily');
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('did not exist, and was created') });
    await expectJobs('daily');
  });

  test('that has lost its file is not an empty state', async () => {
    const repository = bareRepository();
    const { address } = await branch(repository);
    const checkout = tempDirectory();
    execFileSync('git', ['clone', '--quiet', '--branch', 'state', repository, checkout]);
    git(checkout, 'rm', '--quiet', 'state.jsonl');
    git(
      checkout,
      '-c',
      'user.name=ada',
      '-c',
      'user.email=ada@example.com',
      'commit',
      '--quiet',
      '--allow-empty',
      '-m',
      'x',
    );
    git(checkout, 'push', '--quiet', 'origin', 'state');
    expect(await refusalAt(address)).toMatch(/^8 \| There is no state at git\+file:/);
  });

  test('keeps the files and the records that somebody adds, and names the line that cannot be read', async () => {
    const { repository, address } = await branch();
    const { create, run } = await site(address);
    expect((await create('daily')).code).toBe(0);
    const text = git(repository, 'show', 'state:state.jsonl');
    commitFiles(repository, { 'README.md': 'Hands off.\n', 'state.jsonl': `${text}\n<<<<<<< HEAD` });
    const verified = await run(['state', 'verify']);
    expect(verified.code).toBe(1);
    expect(verified.stdout + verified.stderr).toMatch(/not a record|cannot be used/);
    expect((await run(['upload', write('a.txt', 'one')])).code).toBe(0);
    expect(git(repository, 'show', 'state:README.md')).toBe('Hands off.');
    expect(git(repository, 'show', 'state:state.jsonl')).toContain(text);
  });
});

describe('The git of the user', () => {
  test('is used without its hooks, templates, and settings, and does not change a checkout around it', async () => {
    const repository = join(tempDirectory(), 'with space & ütf.git');
    execFileSync('git', ['init', '--quiet', '--bare', repository]);
    const { address } = await branch(repository);
    const [home, marks] = [tempDirectory(), join(tempDirectory(), 'ran')];
    const hooks = join(home, 'template', 'hooks');
    mkdirSync(hooks, { recursive: true });
    for (const name of ['pre-push', 'reference-transaction', 'post-update'])
      writeFileSync(join(hooks, name), `#!/bin/sh\necho ${name} >> ${marks}\nexit 1\n`, { mode: 0o755 });
    writeFileSync(
      join(home, '.gitconfig'),
      `[init]\n  templateDir = ${home}/template\n  defaultBranch = other\n[core]\n  autocrlf = true\n
[push]\n  gpgSign = true\n  followTags = true\n  pushOption = secret\n  default = nothing\n  useForceIfIncludes = true
[fetch]\n  prune = true\n  pruneTags = true\n  recurseSubmodules = true\n[commit]\n  gpgSign = true
[submodule]\n  recurse = true\n[push]\n  recurseSubmodules = check\n`,
    );
    const checkout = bareRepository();
    const before = git(checkout, 'config', '--list', '--local');
    const around = { GIT_DIR: checkout, GIT_INDEX_FILE: '/nowhere', GIT_DEFAULT_HASH: 'sha256', GIT_AUTHOR_DATE: 'x' };
    const { create, expectJobs } = await site(address);
    const ran = await create('daily', { HOME: home, ...around });
    expect(ran.code, ran.stderr).toBe(0);
    await expectJobs('daily');
    expect(existsSync(marks)).toBe(false);
    expect(git(checkout, 'for-each-ref')).toBe('');
    expect(git(checkout, 'config', '--list', '--local')).toBe(before);
  });

  test('works with a repository of SHA-256', async () => {
    const repository = join(tempDirectory(), 'state.git');
    execFileSync('git', ['init', '--quiet', '--bare', '--object-format=sha256', repository]);
    const { create, expectJobs } = await site((await branch(repository, { GIT_DEFAULT_HASH: 'sha256' })).address);
    expect(await create('daily')).toMatchObject({ code: 0 });
    await expectJobs('daily');
  });

  test.each([
    ['is missing', undefined, 'git cannot be started.'],
    ['is too old', "echo 'error: unknown option' >&2; exit 129", 'The installed git is too old.'],
  ])('is named in the error if it %s', async (_why, script, message) => {
    const PATH = tempDirectory();
    if (script !== undefined) writeFileSync(join(PATH, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    symlinkSync('/bin/sh', join(PATH, 'sh'));
    expect(await refusalAt('git+file:///nowhere#state', { PATH })).toContain(message);
  });

  test.each(['git+ssh://-oProxyCommand=touch%20x/state.git', 'git+ssh://-oProxyCommand=x@host/state.git'])(
    'never gets an option for ssh from the URL: %s',
    async (address) => {
      expect(await refusalAt(`${address}#state`)).toContain('must not start with "-"');
    },
  );
});

async function httpServer(options: GitHttpOptions): Promise<GitServer> {
  const server = await startGitHttp(options);
  onTestFinished(() => server.stop());
  return server;
}

function askpass(password: string): Variables {
  return { GIT_ASKPASS: writeExecutable(`#!/bin/sh\necho ${password}\n`) };
}

function writeExecutable(text: string): string {
  const path = write('program', text);
  chmodSync(path, 0o755);
  return path;
}

describe.skipIf(!hasGitHttp())('A state in git over HTTP', () => {
  const isPush = ({ method, url }: GitRequest): boolean =>
    method === 'POST' && url?.endsWith('/git-receive-pack') === true;
  const authorization = `Basic ${btoa('secret:secret')}`;

  test.each([
    ['the first push', 1],
    ['every push', Number.POSITIVE_INFINITY],
  ])('has a record once when the response to %s is cut', async (_which, times) => {
    let cut = 0;
    const server = await httpServer({
      isCut(request) {
        const isNow = isPush(request) && cut < times;
        if (isNow) cut += 1;
        return isNow;
      },
    });
    const { path, address } = server.repository();
    const { create, expectJobs } = await site(address);
    expect(await create('daily')).toMatchObject({ code: 0 });
    expect(cut).toBeGreaterThan(0);
    await expectJobs('daily');
    expect(pushes(path)).toBe(2);
  });

  test('is refused before anything is sent, without a prompt, if git has no password for it', async () => {
    const { address } = (await httpServer({ authorization })).repository();
    const refused = await refusalAt(address);
    expect(refused).toMatch(/^8 \| .*cannot be reached.*could not read Username.*terminal prompts disabled/s);
    expect(refused).toContain("git ls-remote 'http://127.0.0.1");
  });

  test("names the refusal of git's password, which is not shown", async () => {
    const { address } = (await httpServer({ authorization })).repository();
    const refused = await refusalAt(address, askpass('wrong-password'));
    expect(refused).toMatch(/^8 \| .*Authentication failed/s);
    expect(refused).not.toContain('wrong-password');
  });

  test('is used with the password of a git credential helper', async () => {
    const { address } = (await httpServer({ authorization })).repository();
    const { create, expectJobs } = await site(address, askpass('secret'));
    expect(await create('daily')).toMatchObject({ code: 0 });
    await expectJobs('daily');
  });

  test('that is silent is given up as soon as the command is killed', async () => {
    const { port } = await listen(createServer());
    const url = `http://127.0.0.1:${port}/state.git`;
    // A minute by default.
    const env = { GIT_HTTP_LOW_SPEED_TIME: '1', HOME: tempDirectory() };
    const child = start(['state', 'show', '--state', `git+${url}#state`], { env });
    await expect.poll(() => processesUsing(`remote-http ${url}`).length).toBeGreaterThan(0);
    child.kill('SIGKILL');
    await child;
    await expect.poll(() => processesUsing(url), { timeout: 20_000 }).toEqual([]);
  });
});

describe.skipIf(!hasSshd())('A state in git over ssh', () => {
  let server: GitSshServer;
  beforeAll(async () => {
    server = await startGitSsh();
  });
  afterAll(() => server?.stop());

  const refusedWith = (setting: string): Promise<string> =>
    refusalAt(server.repository().address, { GIT_SSH_COMMAND: server.ssh(setting) });

  test('is shared by two machines', async () => {
    const { create, expectJobs } = await site(server.repository().address, server.variables);
    for (const code of [0, 5]) expect((await create('daily')).code).toBe(code);
    await expectJobs('daily');
  });

  test('is refused without a prompt if its host key is unknown, and the message says how to accept it', async () => {
    const refused = await refusedWith('UserKnownHostsFile=/dev/null');
    expect(refused).toMatch(/^8 \| .*Host key verification failed\./s);
    expect(refused).toMatch(/Check the key and accept it: ssh -p \d+ \w+@127\.0\.0\.1\. In CI,.*known_hosts/);
  });

  test('is refused if its host key has changed, and the message says so', async () => {
    const keys = tempDirectory();
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(keys, 'other')]);
    const { port } = new URL(server.repository().address);
    const known = write('known_hosts', `[127.0.0.1]:${port} ${readFileSync(join(keys, 'other.pub'), 'utf8')}`);
    expect(await refusedWith(`UserKnownHostsFile=${known}`)).toMatch(/^8 \| .*Host key .* has changed/s);
  });

  test("names the refusal of the user's key, without a prompt", async () => {
    const refused = await refusedWith('PubkeyAuthentication=no');
    expect(refused).toMatch(/^8 \| .*Permission denied/s);
    expect(refused).toContain("git ls-remote 'ssh://");
  });

  test('is named in the error if the server does not have the repository', async () => {
    const missing = server.repository().address.replace('.git#', '-missing.git#');
    expect(await refusalAt(missing, server.variables)).toMatch(/^8 \| .*does not appear to be a git repository/s);
  });
});

const programs = postgresPrograms();

describe.skipIf(programs === undefined)('A state in PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '', {
      settings: ['ssl=on', 'wal_writer_delay=10s'],
      hostRules: [
        'host all trusted 127.0.0.1/32 scram-sha-256',
        'hostssl all encrypted 127.0.0.1/32 trust',
        'host all encrypted 127.0.0.1/32 reject',
        'host all all 127.0.0.1/32 trust',
      ],
      files: { 'server.crt': CERTIFICATE, 'server.key': KEY },
    });
    server.sql(
      'postgres://ops@localhost/postgres',
      "create role trusted login password 'S3cret-word'; create role encrypted login",
    );
  });
  afterAll(() => server?.stop());

  const fresh = (options?: string): Promise<string> => prepared(server.database(options));
  const as = (user: string, address: string): string => server.overTcp(address).replace('ops@', `${user}@`);
  const nameOf = (address: string): string => new URL(address).pathname.slice(1);
  const names = Array.from({ length: 12 }, (_, n) => `job${n}`);

  /** Creates twelve jobs on twelve machines at once. */
  async function createAll({ create, expectJobs }: Site): Promise<void> {
    for (const ran of await Promise.all(names.map((name) => create(name)))) expect(ran.code, ran.stderr).toBe(0);
    await expectJobs(...names);
  }

  test('loses and duplicates nothing if connections are cut anywhere', async () => {
    const address = await fresh();
    // Most connections are cut in the middle of a command, and every fifth one outlives it.
    const lives = [0.02, 0.1, 0.05, 0.2, 0.9];
    let connections = 0;
    const { port, cuts } = await startCuttingProxy(server.port, () => {
      connections += 1;
      return lives[connections % lives.length] ?? 0;
    });
    const { create, expectJobs } = await site(server.overTcp(address, port));
    for (const name of names) {
      const ran = await create(name);
      expect(ran.code, ran.stderr).toBe(0);
    }
    expect(cuts()).toBeGreaterThan(10);
    await expectJobs(...names);
  });

  test('survives a server that crashes and restarts, and keeps what was acknowledged', async () => {
    const address = await fresh();
    const { create, expectJobs } = await site(address);
    expect((await create('before')).code).toBe(0);
    const crashed = server.crash();
    const ran = await create('after');
    await crashed;
    expect(ran.code, ran.stderr).toBe(0);
    await expectJobs('before', 'after');
  });

  test.each([
    'default_transaction_isolation = serializable',
    'statement_timeout = 5000; alter role ops set idle_in_transaction_session_timeout = 1',
  ])('creates the jobs of twelve machines once with: alter role set %s', async (setting) => {
    const address = await fresh();
    server.sql(address, `alter role ops set ${setting}`);
    onTestFinished(() => void server.sql(address, 'alter role ops reset all'));
    await createAll(await site(address));
  });

  test.skipIf(!hasPgBouncer())('is reached through two connections of PgBouncer in transaction mode', async () => {
    const address = await fresh();
    const bouncer = await startPgBouncer(server);
    onTestFinished(() => bouncer.stop());
    await createAll(await site(server.overTcp(address, bouncer.port)));
    expect(server.sql(address, 'select count(*) from pg_prepared_statements')).toBe('0');
  });

  test('is initialized for other users by the grants that state init prints', async () => {
    const address = await fresh();
    const other = as('trusted', address);
    const variables = { PGPASSWORD: 'S3cret-word' };
    const denied = await refusalAt(other, variables);
    expect(denied).toMatch(/^8 \| .*permission denied.*42501/s);
    const [, grants = ''] = /(GRANT [^;]*;.*GRANT [^;]*;|GRANT SELECT, INSERT [^;]*;)/.exec(denied) ?? [];
    server.sql(address, grants);
    const { create, expectJobs } = await site(other, variables);
    expect(await create('daily')).toMatchObject({ code: 0 });
    await expectJobs('daily');
  });

  test('has a hint for each error of the server', async () => {
    const address = await fresh();
    const password = { PGPASSWORD: 'S3cret-word' };
    expect(await refusalAt(`${address}&table=other`)).toMatch(/^8 .*42P01.*partnerctl state init/s);
    expect(await refusalAt(`${address}&table=other.table_of`)).toMatch(/^8 .*partnerctl state init/s);
    const wrong = await refusalAt(as('trusted', address), { PGPASSWORD: 'Wr0ng-word' });
    expect(wrong).toMatch(/^8 .*password authentication failed.*PGPASSWORD, PGPASSFILE/s);
    expect(wrong).not.toContain('Wr0ng-word');
    expect(await refusalAt(as('trusted', address))).toMatch(/^8 .*28P01.*PGPASSWORD, PGPASSFILE/s);
    expect(await refusalAt(address.replace(/state\d+/, 'nowhere'))).toMatch(
      /^8 .*"nowhere" does not exist.*Check the database/s,
    );
    expect(await refusalAt(`postgres://ops@${UNRESOLVABLE_HOST}/main?sslmode=require`)).toMatch(
      /^8 .*(ENOTFOUND|EAI_)/s,
    );
    expect(await refusalAt(server.overTcp(address, await findClosedPort()))).toMatch(/^8 .*ECONNREFUSED/s);
    server.sql(address, `alter database ${nameOf(address)} set default_transaction_read_only = on`);
    expect(await refusalAt(address)).toMatch(/^8 .*25006.*name the primary/s);
    const full = await fresh();
    server.sql(full, `alter database ${nameOf(full)} connection limit 0`);
    expect(await refusalAt(as('trusted', full), password)).toMatch(/^8 .*too many connections for database.*53300/s);
  });

  test('is not waited for forever if its server accepts connections and stays silent, or closes them', async () => {
    const at = async (onConnection: Parameters<typeof createServer>[1]): Promise<string> => {
      const { port } = await listen(createServer(onConnection));
      return await refusalAt(server.overTcp('postgres://ops@localhost/main', port));
    };
    expect(await at(() => undefined)).toMatch(/^8 .*cannot be reached.*The server sent nothing for 10s/s);
    expect(await at((client) => client.destroy())).toMatch(/^8 .*cannot be reached.*(closed|reset|ECONNRESET)/is);
  });

  test('verifies certificates unless the URL says otherwise, and sends nothing in plain text', async () => {
    const address = await fresh();
    const ca = write('ca.pem', CERTIFICATE);
    const at = (parameters: string): string => `${server.overTcp(address)}?${parameters}`;
    for (const parameters of [`sslmode=verify-full&sslrootcert=${ca}`, 'sslmode=require']) {
      const { run } = await site(at(parameters));
      const ran = await run(['state', 'verify']);
      expect(ran.code, ran.stderr).toBe(0);
    }
    expect(await refusalAt(at('sslmode=verify-full'))).toMatch(/^8 .*SELF_SIGNED.*sslrootcert=<path>/s);
    const renamed = at(`sslmode=verify-full&sslrootcert=${ca}`).replace('127.0.0.1', '127.0.0.2');
    expect(await refusalAt(renamed)).toMatch(/^8 /);
    expect(await refusalAt(as('encrypted', address))).toMatch(/^8 .*no encryption.*sslmode=require/s);
    const received: string[] = [];
    const refusing = createServer((client) => {
      client.on('data', (chunk) => {
        received.push(chunk.toString('latin1'));
        client.write('N');
      });
    });
    const asked = `${server.overTcp(address, (await listen(refusing)).port)}?sslmode=require`;
    expect(await refusalAt(asked, { PGPASSWORD: 'S3cret' })).toMatch(/^8 .*does not offer TLS/s);
    expect(received.join('')).not.toMatch(/ops|S3cret/);
  });

  test('is not made in a database that cannot store every name, but in one that keeps bytes as they are', async () => {
    const latin = server.database("encoding 'LATIN1' template template0");
    const refused = await run(['state', 'init', latin, '-o', 'json'], { env: {} });
    expect(failureOf(refused)).toMatch(/encoding is LATIN1.*UTF8/s);
    const { create, expectJobs } = await site(await fresh("encoding 'SQL_ASCII' template template0"));
    expect(await create('Zoë 日本 🎉')).toMatchObject({ code: 0 });
    await expectJobs('Zoë 日本 🎉');
  });

  test.each([
    ['has other columns', 'create table partnerctl_state (id bigint primary key, text text)'],
    ['may have one position twice', 'create table partnerctl_state (position bigint, line text)'],
    ['has texts as positions', 'create table partnerctl_state (position text primary key, line text)'],
  ])('is refused if its table %s', async (_, statement) => {
    const address = server.database();
    server.sql(address, statement);
    expect(failureOf(await run(['state', 'init', address, '-o', 'json'], { env: {} }))).toMatch(/^8 .*\?table=<name>/s);
    expect(await refusalAt(address)).toMatch(/^8 .*\?table=<name>/s);
    expect(server.sql(address, 'select count(*) from partnerctl_state')).toBe('0');
  });

  test('is refused if its table drops inserted rows', async () => {
    const address = await fresh();
    server.sql(address, 'create rule drop_all as on insert to partnerctl_state do instead nothing');
    expect(await refusalAt(address)).toMatch(/^8 .*(did not store the record.*triggers and rules|refused a query)/s);
  });

  test('names the rows that were changed', async () => {
    const address = await fresh();
    const { create, run } = await site(address);
    expect((await create('daily')).code).toBe(0);
    server.sql(address, 'update partnerctl_state set line = replace(line, \'"agent_id":"a\', \'"agent_id":"b\')');
    const verified = await run(['state', 'verify', '-o', 'json']);
    expect(verified.code).toBe(1);
    expect(verified.json()).toMatchObject({ sound: false });
  });
});
