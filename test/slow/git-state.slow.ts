import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startFakeService } from '../support/fake-service.ts';
import { processesUsing } from '../support/kill.ts';
import { start, startDaemon } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { manifest, write } from '../support/service.ts';
import { bareRepository, openSite, prepared, refusalAt } from '../support/stores.ts';
import { findClosedPort, listen } from '../support/tcp-server.ts';

/* What the operators of a state in git meet: servers that refuse, that lose responses, or say nothing, and people who edit. */

const git = (repository: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] }).trim();

const pushes = (repository: string): number => Number(git(repository, 'rev-list', '--count', 'state'));

/** A repository with an empty state. */
async function branch(repository = bareRepository()): Promise<{ repository: string; address: string }> {
  return { repository, address: await prepared(`git+file://${encodeURI(repository)}#state`) };
}

/** Installs a hook of the server. */
function addHook(repository: string, name: string, script: string): void {
  mkdirSync(join(repository, 'hooks'), { recursive: true });
  writeFileSync(join(repository, 'hooks', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** The change of a person who edits files on the branch, and removes one. */
function commitFiles(repository: string, files: Readonly<Record<string, string>>, removed?: string): void {
  const checkout = tempDirectory();
  execFileSync('git', ['clone', '--quiet', '--branch', 'state', repository, checkout]);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(checkout, name), text);
  if (removed !== undefined) rmSync(join(checkout, removed));
  git(checkout, 'add', '--all');
  git(checkout, '-c', 'user.name=ada', '-c', 'user.email=ada@example.com', 'commit', '--quiet', '-m', 'Edit');
  git(checkout, 'push', '--quiet', 'origin', 'state');
}

describe('A push to a shared state', () => {
  test('that succeeds although its response is lost counts once', async () => {
    const { repository, address } = await branch();
    const cutFirst = '[ "$1" = committed ] && [ ! -e cut ] && touch cut && kill -9 $PPID; true';
    addHook(repository, 'reference-transaction', cutFirst);
    const { create, expectJobs } = await openSite(address);
    expect(await create('daily')).toMatchObject({ code: 0 });
    expect(existsSync(join(repository, 'cut'))).toBe(true);
    await expectJobs('daily');
    // The empty state, the reservation, and the job.
    expect(pushes(repository)).toBe(3);
  });

  test('that a protected branch refuses prevents every request, and is reported with what the server says', async () => {
    const { repository, address } = await branch();
    addHook(repository, 'pre-receive', 'echo "this branch is protected" >&2; exit 1');
    expect(await refusalAt(address)).toMatch(
      /^8 \| .*branch state of the state cannot be updated.*this branch is protected/s,
    );
    expect(pushes(repository)).toBe(1);
  });

  test('after which the branch is gone prevents every request: what it held may be needed', async () => {
    const { repository, address } = await branch();
    const deleteOnce =
      '[ -e gone ] || { touch gone; env -u GIT_QUARANTINE_PATH git update-ref -d refs/heads/state; exit 1; }';
    addHook(repository, 'pre-receive', deleteOnce);
    const { create, cron } = await openSite(address);
    expect(await create('daily')).toMatchObject({
      code: 8,
      stderr: expect.stringContaining('branch state of the state was deleted or set back during this run'),
    });
    expect(existsSync(join(repository, 'gone'))).toBe(true);
    expect(await cron.posted()).toBe(0);
  });

  test('is shared by the jobs, spaces, and files of one command', async () => {
    const { repository, address } = await branch();
    const { sandbox, cron, run } = await openSite(address);
    const lines = Array.from(
      { length: 100 },
      (_, n) => `  - { name: job${n}, instructions: x, schedule: '0 9 * * *' }`,
    );
    const jobs = write('jobs.yaml', `agent: ${cron.agent_id}\njobs:\n${lines.join('\n')}\n`);
    expect(await run(['cron', 'create', '-f', jobs])).toMatchObject({ code: 0 });
    expect(await cron.jobs()).toHaveLength(100);
    // Fifty reservations a push. What ends during a push shares the next one, and pushes to this machine are fast.
    const first = pushes(repository);
    expect(first).toBeLessThanOrEqual(40);

    const files = tempDirectory();
    for (let n = 0; n < 60; n += 1) writeFileSync(join(files, `f${n}.txt`), `content ${n}`);
    expect(await run(['upload', files, '--recursive'])).toMatchObject({ code: 0 });
    expect((await sandbox.admin('GET', '/uploads')).json.uploads).toHaveLength(60);
    const second = pushes(repository);
    expect(second - first).toBeLessThanOrEqual(30);

    const two = ['a', 'b'].map((name) => `{ name: ${name}, instructions: x, schedule: '0 9 * * *' }`);
    const agent = `"Support", chat: {}, cron: [${two}] }`;
    const spaces = Array.from({ length: 30 }, (_, n) => manifest(`acme-${n}`).replace('"Support" }', agent));
    const ran = await run(['provision', write('spaces.yaml', spaces.join('---\n'))]);
    expect(ran.code, ran.stderr).toBe(0);
    expect(await cron.jobs()).toHaveLength(160);
    expect(pushes(repository) - second).toBeLessThanOrEqual(60);
  });
});

describe('A branch with a state', () => {
  test('that does not exist is created with the first record', async () => {
    const { create, expectJobs } = await openSite(`git+file://${bareRepository()}#new`);
    const ran = await create('daily');
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('did not exist, and was created') });
    await expectJobs('daily');
  });

  test('that has lost its file is not an empty state', async () => {
    const repository = bareRepository();
    const { address } = await branch(repository);
    commitFiles(repository, { 'README.md': 'Moved.' }, 'state.jsonl');
    expect(await refusalAt(address)).toMatch(/^8 \| The branch state of the state is not a state: git\+file:/);
  });

  test('is refused if it has another file, keeps the records that somebody adds, and names the line that cannot be read', async () => {
    const { repository, address } = await branch();
    const { create, run } = await openSite(address);
    expect((await create('daily')).code).toBe(0);
    const text = git(repository, 'show', 'state:state.jsonl');
    commitFiles(repository, { 'README.md': 'Hands off.\n' });
    expect(await run(['upload', write('a.txt', 'one')])).toMatchObject({
      code: 8,
      stderr: expect.stringContaining('It has: README.md, state.jsonl'),
    });
    expect(git(repository, 'show', 'state:README.md')).toBe('Hands off.');
    commitFiles(repository, { 'state.jsonl': `${text}\n<<<<<<< HEAD` }, 'README.md');
    const verified = await run(['state', 'verify']);
    expect(verified.code).toBe(1);
    expect(verified.stdout + verified.stderr).toMatch(/cannot be used/);
    expect((await run(['upload', write('a.txt', 'one')])).code).toBe(1);
    commitFiles(repository, { 'state.jsonl': `${text}\n` });
    expect((await run(['upload', write('a.txt', 'one')])).code).toBe(0);
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
    const { create, expectJobs } = await openSite(address);
    const ran = await create('daily', { HOME: home, ...around });
    expect(ran.code, ran.stderr).toBe(0);
    await expectJobs('daily');
    expect(existsSync(marks)).toBe(false);
    expect(git(checkout, 'for-each-ref')).toBe('');
    expect(git(checkout, 'config', '--list', '--local')).toBe(before);
  });

  test('is named in the error if it is missing', async () => {
    expect(await refusalAt('git+file:///nowhere#state', { PATH: tempDirectory() })).toContain('git cannot be started.');
  });

  test('never gets an option for ssh from the URL', async () => {
    const refused = await refusalAt('git+ssh://-oProxyCommand=touch%20x/state.git#state');
    expect(refused).toMatch(/^8 \| .*strange hostname .* blocked/s);
  });
});

const GIT_PROGRAMS = execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim();

describe.skipIf(!existsSync(join(GIT_PROGRAMS, 'git-remote-http')))('A state in git over HTTP', () => {
  test('is refused before anything is sent, without a prompt, if git has no password for it', async () => {
    const { port } = await startFakeService((_, response) =>
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end(),
    );
    const refused = await refusalAt(`git+http://127.0.0.1:${port}/state.git#state`);
    expect(refused).toMatch(/^8 \| .*cannot be reached.*could not read Username.*terminal prompts disabled/s);
    expect(refused).toContain("git ls-remote 'http://127.0.0.1");
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

const SSHD = '/usr/sbin/sshd';

/**
 * Starts an ssh server that accepts this user with a new key.
 * @param settings of ssh, which precede the default ones
 * @returns the URL of a branch, and the environment in which git can log in
 */
async function startGitSsh(...settings: readonly string[]) {
  const root = tempDirectory();
  const port = await findClosedPort();
  const path = (name: string): string => join(root, name);
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', path(name)]);
  writeFileSync(path('known_hosts'), `[127.0.0.1]:${port} ${readFileSync(path('host.pub'), 'utf8')}`);
  const config = [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${path('host')}`,
    `AuthorizedKeysFile ${path('user.pub')}`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin yes',
  ];
  writeFileSync(path('sshd_config'), `${config.join('\n')}\n`);
  // The directory that sshd requires when it runs as root.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const end = await startDaemon(SSHD, ['-D', '-e', '-f', path('sshd_config')], 'listening');
  onTestFinished(() => end('SIGTERM'));
  const files = [`UserKnownHostsFile=${path('known_hosts')}`, 'GlobalKnownHostsFile=none', 'IdentitiesOnly=yes'];
  const options = [...settings, ...files].map((each) => `-o ${each}`).join(' ');
  const user = execFileSync('id', ['-un'], { encoding: 'utf8' }).trim();
  return {
    address: `git+ssh://${user}@127.0.0.1:${port}${bareRepository()}#state`,
    variables: { GIT_SSH_COMMAND: `ssh -F none ${options} -i ${path('user')}` },
  };
}

describe.skipIf(!existsSync(SSHD))('A state in git over ssh', () => {
  test('is shared by two machines', async () => {
    const { address, variables } = await startGitSsh();
    const { create, expectJobs } = await openSite(await prepared(address, variables), variables);
    for (const code of [0, 5]) expect((await create('daily')).code).toBe(code);
    await expectJobs('daily');
  });

  test.each([
    ['its host key is unknown', 'UserKnownHostsFile=/dev/null', 'Host key verification failed.'],
    ["the user's key is refused", 'PubkeyAuthentication=no', 'Permission denied'],
  ])('is refused without a prompt if %s', async (_, setting, why) => {
    const { address, variables } = await startGitSsh(setting);
    const refused = await refusalAt(address, variables);
    expect(refused).toMatch(/^8 \| /);
    expect(refused).toContain(why);
    expect(refused).toContain("git ls-remote 'ssh://");
  });
});
