import { appendFile, chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { writeLine } from '../../src/sandbox/store/lines.ts';
import { type ChildSandbox, childSandboxes, temporaryDirectory } from './child-process.ts';
import { call, PROVISION, provisionBody, SPACES, startTestSandbox } from './client.ts';

const startChild = childSandboxes();

interface Provisioned {
  readonly space: { space_id: string };
  readonly agents: { agent_id: string; integrations: { api_chat: { source_id: string } } }[];
}

/** Everything that the service answered, by external id. */
type Answers = Map<string, Provisioned>;

/** Provisions without a pause until `enough` answers are in, then does `then` while others are under way. */
async function load(child: ChildSandbox, round: string, enough: number, then: () => Promise<void>): Promise<Answers> {
  const answers: Answers = new Map();
  let ended = false;
  const worker = async (name: string): Promise<void> => {
    for (let number = 0; !ended; number += 1) {
      const id = `${round}-${name}-${number}`;
      const body = provisionBody(id);
      const answer = await call('POST', `${child.baseUrl}${PROVISION}`, { token: child.token, body }).catch(
        () => undefined,
      );
      if (answer?.status === 201) answers.set(id, answer.json);
      if (answers.size < enough || ended) continue;
      ended = true;
      await then();
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, index) => worker(`w${index}`)));
  return answers;
}

/** Asserts that a sandbox on the directory knows all that was answered, under the same ids. */
async function expectKept(dataDir: string, answers: Answers): Promise<void> {
  const sandbox = await startSandbox({ dataDir });
  try {
    const token = await sandbox.createToken();
    for (const [id, answered] of answers) {
      const { status, json } = await call('POST', `${sandbox.baseUrl}${PROVISION}`, { token, body: provisionBody(id) });
      expect([id, status]).toEqual([id, 200]);
      expect(json.space).toEqual(answered.space);
      expect(json.agents).toEqual(answered.agents.map((agent) => ({ ...agent, created: false })));
    }
  } finally {
    await sandbox.close();
  }
}

describe('a restart', () => {
  /** Fills the journal with what no longer counts, and has it written anew. */
  async function rewriteJournal(dataDir: string): Promise<void> {
    const path = join(dataDir, 'journal.jsonl');
    const filler = JSON.stringify({ kind: 'template', template: { template_id: 'tmpl_new', name: 'New' } });
    await appendFile(path, writeLine(Array.from({ length: 3_000 }, () => filler)));
    const { size } = await stat(path);
    await (await startSandbox({ dataDir })).close();
    expect((await stat(path)).size).toBeLessThan(size / 10);
  }

  test.each([
    ['finds everything as it was', () => Promise.resolve()],
    ['finds everything in a journal written anew', rewriteJournal],
  ])('%s', async (_, between) => {
    const dataDir = await temporaryDirectory();
    const first = await startSandbox({ dataDir });
    const token = await first.createToken({ scopes: ['spaces.read', 'spaces.provision', 'agents.read'] });
    const gone = await first.createToken();
    const admin = (method: string, path: string, body?: unknown) =>
      call(method, `${first.adminUrl}${path}`, { token: first.adminKey, body });
    await admin('PATCH', '/settings', { page_size: 7, balance_usd: 12.5 });
    await admin('POST', '/templates', { template_id: 'tmpl_new', name: 'New' });
    await admin('POST', '/spaces', { count: 9, prefix: 'bulk' });
    const { tokens } = (await admin('GET', '/tokens')).json;
    await admin('DELETE', `/tokens/${tokens[1].token_id}`);
    const agents = [{ template_id: 'tmpl_new', name: 'N', auto_create_api_chat: true }];
    const made = await call('POST', `${first.baseUrl}${PROVISION}`, { token, body: provisionBody('acme', { agents }) });
    expect(made.status).toBe(201);
    const settings = (await admin('GET', '/settings')).json;
    await first.close();
    await between(dataDir);

    const second = await startTestSandbox({ dataDir });
    expect(second.sandbox.adminKey).toBe(first.adminKey);
    expect((await second.admin('GET', '/settings')).json).toEqual(settings);
    expect((await second.partner('GET', SPACES, { token: gone })).status).toBe(401);
    const spaces = await second.partner('GET', `${SPACES}?page_size=100`, { token });
    expect(spaces.json.count).toBe(10);
    expect(spaces.json.results.at(-1)).toEqual(made.json.space);
    const listed = await second.partner('GET', `${SPACES}${made.json.space.space_id}/agents/`, { token });
    expect(listed.json.results).toEqual(made.json.agents.map(({ created, ...agent }: { created: boolean }) => agent));
    const again = await second.partner('POST', PROVISION, { token, body: provisionBody('acme', { agents }) });
    expect([again.status, again.json.created]).toEqual([200, false]);
  });

  test('keeps a reset a reset', async () => {
    const dataDir = await temporaryDirectory();
    const first = await startSandbox({ dataDir });
    const admin = { token: first.adminKey };
    await call('POST', `${first.adminUrl}/spaces`, { ...admin, body: { count: 3 } });
    await call('POST', `${first.adminUrl}/reset`, { ...admin, body: {} });
    await call('POST', `${first.adminUrl}/spaces`, { ...admin, body: { count: 2, prefix: 'new' } });
    await first.close();
    const { partner } = await startTestSandbox({ dataDir });
    expect((await partner('GET', SPACES)).json.count).toBe(2);
  });

  test('an admin key that was given is not kept', async () => {
    const dataDir = await temporaryDirectory();
    await (await startSandbox({ dataDir, adminKey: 'given-key' })).close();
    const { sandbox } = await startTestSandbox({ dataDir });
    expect(sandbox.adminKey).not.toBe('given-key');
    for (const name of await readdir(dataDir)) {
      expect(await readFile(join(dataDir, name), 'utf8')).not.toContain('given-key');
    }
  });
});

describe('kill -9', () => {
  test('in the middle of a load of provisioning loses nothing that was answered', async () => {
    const dataDir = await temporaryDirectory();
    const answered: Answers = new Map();
    for (const [round, enough] of [1, 40, 133, 200].entries()) {
      const child = await startChild(dataDir);
      const answers = await load(child, `r${round}`, enough, () => child.kill());
      expect(answers.size).toBeGreaterThanOrEqual(enough);
      for (const [id, answer] of answers) answered.set(id, answer);
    }
    await expectKept(dataDir, answered);
  });

  test('leaves the data directory free at once', async () => {
    const dataDir = await temporaryDirectory();
    const child = await startChild(dataDir);
    await expect(startSandbox({ dataDir })).rejects.toThrow(/is in use by another sandbox/);
    await child.kill();
    const { partner } = await startTestSandbox({ dataDir });
    expect((await partner('GET', SPACES, { token: child.token })).status).toBe(200);
  });
});

describe('a disk that takes no more', () => {
  test('turns every answer into 500 from then on, and what was answered before is kept', async () => {
    const dataDir = await temporaryDirectory();
    // 32 blocks of 512 bytes (of 1024 in some shells): room for a few dozen spaces.
    const child = await startChild(dataDir, 'ulimit -f 32');
    const answers: Answers = new Map();
    let status = 0;
    for (let number = 0; number < 1_000; number += 1) {
      const answer = await call('POST', `${child.baseUrl}${PROVISION}`, {
        token: child.token,
        body: provisionBody(`s-${number}`),
      });
      status = answer.status;
      if (status !== 201) break;
      answers.set(`s-${number}`, answer.json);
    }
    expect(status).toBe(500);
    expect(answers.size).toBeGreaterThan(5);
    expect((await call('GET', `${child.baseUrl}${SPACES}`, { token: child.token })).status).toBe(500);
    await child.kill();
    await expectKept(dataDir, answers);
  });
});

describe('the data directory', () => {
  test.skipIf(process.platform !== 'linux')('where none can be made is refused, and the attempt ends', async () => {
    await expect(startSandbox({ dataDir: '/proc/nowhere/deep' })).rejects.toThrow(/ENOENT/);
  });

  test('holds no secret of a token and is for its owner alone', async () => {
    const dataDir = join(await temporaryDirectory(), 'new', 'data');
    const { token, partner, admin } = await startTestSandbox({ dataDir });
    const { json } = await admin('POST', '/tokens', {});
    await partner('POST', PROVISION, { body: provisionBody('acme') });
    await partner('GET', SPACES, { token: json.token });
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    const names = await readdir(dataDir);
    expect(names.sort()).toEqual(['admin-key', 'journal.jsonl']);
    for (const name of names) {
      const path = join(dataDir, name);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      const content = await readFile(path, 'utf8');
      expect(content).not.toContain(token.slice(4));
      expect(content).not.toContain(json.token.slice(4));
    }
  });

  test('is refused, and left alone, when it holds other things', async () => {
    const dataDir = await temporaryDirectory();
    await chmod(dataDir, 0o755);
    await writeFile(join(dataDir, 'thesis.txt'), 'x');
    await expect(startSandbox({ dataDir })).rejects.toThrow('is not empty and holds no sandbox data');
    expect(await readdir(dataDir)).toEqual(['thesis.txt']);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o755);
  });

  test('is taken, and closed to others, when it is there and empty', async () => {
    const dataDir = join(await temporaryDirectory(), 'empty');
    await mkdir(dataDir, { mode: 0o755 });
    await startTestSandbox({ dataDir });
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  });

  test('in use is refused under any of its names, and free again after close', async () => {
    const parent = await temporaryDirectory();
    const first = await startSandbox({ dataDir: join(parent, 'data') });
    await expect(startSandbox({ dataDir: join(parent, '..', parent.split('/').at(-1) ?? '', 'data') })).rejects.toThrow(
      /is in use by another sandbox/,
    );
    await first.close();
    await startTestSandbox({ dataDir: join(parent, 'data') });
  });

  test('is free again when the start failed for another reason', async () => {
    const dataDir = await temporaryDirectory();
    const { sandbox } = await startTestSandbox();
    const port = Number(new URL(sandbox.baseUrl).port);
    await expect(startSandbox({ dataDir, port })).rejects.toThrow(/is in use/);
    await startTestSandbox({ dataDir });
  });
});

describe('the journal', () => {
  async function withJournal(content: string): Promise<{ dataDir: string; path: string }> {
    const dataDir = await temporaryDirectory();
    const path = join(dataDir, 'journal.jsonl');
    await writeFile(path, content);
    return { dataDir, path };
  }

  function template(number: number): string {
    return JSON.stringify({ kind: 'template', template: { template_id: `t${number}`, name: 'T' } });
  }

  test('a torn last line is cut off, and writing goes on behind what is intact', async () => {
    const whole = writeLine([template(1)]);
    const torn = writeLine([template(2)]).slice(0, -1);
    const { dataDir, path } = await withJournal(whole + torn);
    const first = await startSandbox({ dataDir });
    expect(await readFile(path, 'utf8')).toBe(whole);
    await first.createToken();
    await first.close();
    expect((await readFile(path, 'utf8')).startsWith(whole)).toBe(true);
    const { admin } = await startTestSandbox({ dataDir });
    const ids = (await admin('GET', '/templates')).json.templates.map(
      (each: { template_id: string }) => each.template_id,
    );
    expect(ids).toContain('t1');
    expect(ids).not.toContain('t2');
    expect((await admin('GET', '/tokens')).json.tokens).toHaveLength(2);
  });

  test('damage in its midst is refused and nothing is changed', async () => {
    const content = writeLine([template(1)]).replace('t1', 't9') + writeLine([template(2)]);
    const { dataDir, path } = await withJournal(content);
    await expect(startSandbox({ dataDir })).rejects.toThrow('line 1 is damaged and is not the last one');
    expect(await readFile(path, 'utf8')).toBe(content);
    await expect(startSandbox({ dataDir })).rejects.toThrow('line 1 is damaged');
  });

  test('a change that this version does not know is refused', async () => {
    const content = writeLine([JSON.stringify({ kind: 'miracle' })]);
    const { dataDir, path } = await withJournal(content);
    await expect(startSandbox({ dataDir })).rejects.toThrow('a change that this version does not know');
    expect(await readFile(path, 'utf8')).toBe(content);
  });

  test('grown long with what no longer counts, it is written anew on opening', async () => {
    const lines = Array.from({ length: 3_000 }, (_, number) => writeLine([template(number % 5)]));
    const { dataDir, path } = await withJournal(lines.join(''));
    await appendFile(path, '{"sum":"torn');
    const first = await startSandbox({ dataDir });
    await first.close();
    const short = await readFile(path, 'utf8');
    expect(short.length).toBeLessThan(2_000);
    expect(await readdir(dataDir)).not.toContainEqual(expect.stringMatching(/tmp$/));
    const { admin } = await startTestSandbox({ dataDir });
    const { templates } = (await admin('GET', '/templates')).json;
    expect(templates.map((each: { template_id: string }) => each.template_id).slice(4)).toEqual([
      't0',
      't1',
      't2',
      't3',
      't4',
    ]);
  });

  test('what a crash left of a rewriting is swept away', async () => {
    const { dataDir } = await withJournal(writeLine([template(1)]));
    await writeFile(join(dataDir, 'journal.jsonl.0123456789ab.tmp'), 'half');
    await startTestSandbox({ dataDir });
    expect((await readdir(dataDir)).sort()).toEqual(['admin-key', 'journal.jsonl']);
  });

  test('a crash before there was a journal does not shut the directory', async () => {
    const dataDir = await temporaryDirectory();
    await writeFile(join(dataDir, 'journal.jsonl.0123456789ab.tmp'), '');
    await startTestSandbox({ dataDir });
    expect((await readdir(dataDir)).sort()).toEqual(['admin-key', 'journal.jsonl']);
  });

  test("another sandbox's rewriting in progress is not swept away", async () => {
    const dataDir = await temporaryDirectory();
    await startTestSandbox({ dataDir });
    const inProgress = join(dataDir, 'journal.jsonl.0123456789ab.tmp');
    await writeFile(inProgress, 'half');
    await expect(startSandbox({ dataDir })).rejects.toThrow(/is in use by another sandbox/);
    expect(await readFile(inProgress, 'utf8')).toBe('half');
  });

  test('with a mode that lets others read is closed to them', async () => {
    const { dataDir, path } = await withJournal(writeLine([template(1)]));
    await chmod(path, 0o644);
    await startTestSandbox({ dataDir });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('of a version with fewer settings opens with the defaults of the others', async () => {
    const { dataDir } = await withJournal(
      writeLine([JSON.stringify({ kind: 'settings', settings: { page_size: 7 } })]),
    );
    const { admin } = await startTestSandbox({ dataDir });
    expect((await admin('GET', '/settings')).json).toMatchObject({ page_size: 7, balance_usd: 100 });
  });
});
