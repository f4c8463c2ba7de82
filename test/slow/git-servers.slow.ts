import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { NewRecord } from '../../src/state/record.ts';
import { readStore, type StateStore } from '../../src/state/store.ts';
import { createCronAgent } from '../support/cron.ts';
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
import { start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { service } from '../support/service.ts';
import { openAt } from '../support/stores.ts';
import { listen } from '../support/tcp-server.ts';

/* The state in git behind servers that reject pushes, or whose responses are lost. */

const record = (id: string): NewRecord => ({ type: 'note', at: '2026-01-01T00:00:00.000Z', id });
const OTHER = { kind: 'other' } as const;

async function httpServer(options: GitHttpOptions): Promise<GitServer> {
  const server = await startGitHttp(options);
  onTestFinished(() => server.stop());
  return server;
}

function isPush({ method, url }: GitRequest): boolean {
  return method === 'POST' && url?.endsWith('/git-receive-pack') === true;
}

async function allIds(store: StateStore): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of readStore(store)) found.push(entry.kind === 'record' ? entry.record.id : entry.kind);
  return found;
}

function commits(path: string): number {
  return Number(execFileSync('git', ['-C', path, 'rev-list', '--count', 'state'], { encoding: 'utf8' }));
}

/**
 * Runs `cron create` in a separate process, with helpers that ask for passwords.
 * @returns its error, and the number of jobs that it created
 */
async function createRefused(address: string, variables: Readonly<Record<string, string>> = {}) {
  const it = await service();
  const cron = await createCronAgent(it);
  const env = { ...it.env, ...variables, PARTNER_STATE: address };
  const ran = await start(cron.create('refused'), { env });
  expect(await cron.posted()).toBe(0);
  const { error } = JSON.parse(ran.stderr);
  return { code: ran.exitCode, message: error.message, why: error.details?.why ?? '', hint: error.hint };
}

describe.skipIf(!hasGitHttp())('the state in git over HTTP', () => {
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
    const store = await openAt(address, tempDirectory());
    for (const id of ['a', 'b']) await store.open().append(record(id), OTHER);
    expect(cut).toBeGreaterThan(0);
    expect(await allIds(store)).toEqual(['a', 'b']);
    expect(commits(path)).toBe(2);
    await store.close();
  });

  test('is rejected before anything is sent, without a prompt, if it needs a password that git does not have', async () => {
    const server = await httpServer({ authorization: `Basic ${btoa('ada:secret')}` });
    const { address } = server.repository();
    const refused = await createRefused(address);
    expect(refused).toMatchObject({ code: 8, message: expect.stringContaining('cannot be reached') });
    expect(refused.why).toMatch(/could not read Username.*terminal prompts disabled/);
    expect(refused.hint).toContain("git ls-remote 'http://127.0.0.1");
  });

  test("is named in the error if it rejects git's password, which is not shown", async () => {
    const server = await httpServer({ authorization: `Basic ${btoa('ada:secret')}` });
    const helper = join(tempDirectory(), 'askpass');
    writeFileSync(helper, '#!/bin/sh\necho wrong-password\n', { mode: 0o755 });
    const refused = await createRefused(server.repository().address, { GIT_ASKPASS: helper });
    expect(refused).toMatchObject({ code: 8, why: expect.stringContaining('Authentication failed') });
    expect(JSON.stringify(refused)).not.toContain('wrong-password');
  });

  test('is used with the password of a git credential helper', async () => {
    const server = await httpServer({ authorization: `Basic ${btoa('secret:secret')}` });
    const helper = join(tempDirectory(), 'askpass');
    writeFileSync(helper, '#!/bin/sh\necho secret\n', { mode: 0o755 });
    const store = await openAt(server.repository().address, tempDirectory(), undefined, { GIT_ASKPASS: helper });
    await store.open().append(record('a'), OTHER);
    expect(await allIds(store)).toEqual(['a']);
    await store.close();
  });
});

test.skipIf(!hasGitHttp())('a git that waits for a silent server ends when the command is killed', async () => {
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

describe.skipIf(!hasSshd())('the state in git over ssh', () => {
  let server: GitSshServer | undefined;
  beforeAll(async () => {
    server = await startGitSsh();
  });
  afterAll(() => server?.stop());

  /** Refused as with this setting of ssh. */
  async function refusedWith(setting: (server: GitSshServer) => string) {
    if (!server) throw new Error('sshd does not run.');
    return await createRefused(server.repository().address, { GIT_SSH_COMMAND: setting(server) });
  }

  test('is rejected without a prompt if its host key is unknown, and the message says how to accept it', async () => {
    const refused = await refusedWith(({ ssh }) => ssh('UserKnownHostsFile=/dev/null'));
    expect(refused).toMatchObject({ code: 8, why: expect.stringContaining('Host key verification failed.') });
    expect(refused.hint).toMatch(/Check the key and accept it: ssh -p \d+ \w+@127\.0\.0\.1\. In CI,.*known_hosts/);
  });

  test('is rejected if its host key has changed, and the message says so', async () => {
    const known = join(tempDirectory(), 'known_hosts');
    const keys = tempDirectory();
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(keys, 'other')]);
    const refused = await refusedWith((it) => {
      const port = new URL(it.repository().address).port;
      const key = execFileSync('cat', [join(keys, 'other.pub')], { encoding: 'utf8' });
      writeFileSync(known, `[127.0.0.1]:${port} ${key}`);
      return it.ssh(`UserKnownHostsFile=${known}`);
    });
    expect(refused).toMatchObject({ code: 8, why: expect.stringMatching(/Host key .* has changed/) });
  });

  test("is named in the error, without a prompt, if it rejects the user's key", async () => {
    const refused = await refusedWith(({ ssh }) => ssh('PubkeyAuthentication=no'));
    expect(refused).toMatchObject({ code: 8, why: expect.stringContaining('Permission denied') });
    expect(refused.hint).toContain("git ls-remote 'ssh://");
  });

  test('is named in the error if it does not have the repository', async () => {
    const address = server?.repository().address.replace('.git#', '-missing.git#') ?? '';
    const refused = await createRefused(address, server?.variables);
    expect(refused).toMatchObject({ code: 8, why: expect.stringContaining('does not appear to be a git repository') });
  });
});
