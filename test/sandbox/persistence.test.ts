import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { recoverJournal } from '../../src/sandbox/store/journal.ts';
import { cpuMsOf } from '../support/cpu.ts';
import { createChat, type HistoryEntry, manualClock } from '../support/sandbox-chat.ts';
import {
  connectTo,
  PROVISION,
  provisionBody,
  SPACES,
  startTestSandbox,
  type TestSandbox,
} from '../support/sandbox-client.ts';
import { createCronClient } from '../support/sandbox-cron.ts';
import { temporaryDirectory } from '../support/sandbox-process.ts';
import {
  ATTACHMENTS,
  DOCUMENTS,
  expectWholeUploads,
  fileForm,
  postForm,
  sha256,
  uploadedFiles,
} from '../support/sandbox-uploads.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 0, 1);

function texts(entries: readonly HistoryEntry[]): string[] {
  return entries.map(({ text }) => text);
}

/** Runs a function on a data directory from a given time on, and closes the sandbox. */
async function runOn<Result>(
  dataDir: string,
  start: number,
  use: (on: TestSandbox, machine: ReturnType<typeof manualClock>) => Promise<Result>,
): Promise<Result> {
  const machine = manualClock(start);
  const sandbox = await startSandbox({ dataDir, ...machine });
  try {
    return await use(connectTo(sandbox, await sandbox.createToken()), machine);
  } finally {
    await sandbox.close();
  }
}

describe('a restart', () => {
  test('keeps spaces, agents, tokens, templates, settings, and the admin key', async () => {
    const dataDir = await temporaryDirectory();
    const first = await startSandbox({ dataDir });
    const token = await first.createToken({ scopes: ['spaces.read', 'spaces.provision', 'agents.read'] });
    const deleted = await first.createToken();
    const { admin, partner } = connectTo(first, token);
    await admin('PATCH', '/settings', { page_size: 7, balance_usd: 12.5 });
    await admin('POST', '/templates', { template_id: 'tmpl_new', name: 'New' });
    await admin('POST', '/spaces', { count: 9, prefix: 'bulk' });
    const { tokens } = (await admin('GET', '/tokens')).json;
    await admin('DELETE', `/tokens/${tokens[1].token_id}`);
    const agents = [{ template_id: 'tmpl_new', name: 'N', auto_create_api_chat: true }];
    const created = await partner('POST', PROVISION, { body: provisionBody('acme', { agents }) });
    expect(created.status).toBe(201);
    const settings = (await admin('GET', '/settings')).json;
    await first.close();

    const second = await startTestSandbox({ dataDir });
    expect(second.sandbox.adminKey).toBe(first.adminKey);
    expect((await second.admin('GET', '/settings')).json).toEqual(settings);
    expect((await second.partner('GET', SPACES, { token: deleted })).status).toBe(401);
    const spaces = await second.partner('GET', `${SPACES}?page_size=100`, { token });
    expect(spaces.json.count).toBe(10);
    expect(spaces.json.results.at(-1)).toEqual(created.json.space);
    const again = await second.partner('POST', PROVISION, { token, body: provisionBody('acme', { agents }) });
    expect(again.json).toEqual({
      ...created.json,
      created: false,
      agents: [{ ...created.json.agents[0], created: false }],
    });
  });

  test('keeps a reset, and all changes after it', async () => {
    const dataDir = await temporaryDirectory();
    await runOn(dataDir, START, async ({ admin }) => {
      await admin('POST', '/spaces', { count: 3 });
      await admin('POST', '/reset', {});
      await admin('POST', '/spaces', { count: 2, prefix: 'new' });
    });
    const { partner } = await startTestSandbox({ dataDir });
    expect((await partner('GET', SPACES)).json.count).toBe(2);
  });

  test('keeps messages, chat tokens, and the script, and sends the replies that were pending', async () => {
    const dataDir = await temporaryDirectory();
    const script = [{ pattern: 'slow (.*)', replies: [{ text: 'first $1', delay_ms: 100 }, { text: 'second $1' }] }];
    const clock = manualClock();
    const sandbox = await startSandbox({ dataDir, script, ...clock });
    const first = connectTo(sandbox, await sandbox.createToken());
    const inbox = await createChat(first, 'agent_inbox');
    const workflow = await createChat(first, 'session_workflow');
    const { token: chatToken } = (await first.admin('POST', '/chat-tokens', { source_id: inbox.source_id })).json;
    for (const text of ['slow a', 'b', 'c']) await inbox.send(text);
    await workflow.send('done');
    clock.advance(50);
    await workflow.send('slow d');
    clock.advance(60);
    const before = { inbox: await inbox.history(), workflow: await workflow.history() };
    expect(texts(before.inbox)).toEqual(['slow a', 'b', 'c', 'first a']);
    expect(texts(before.workflow)).toEqual(['done', 'You said: done', 'slow d']);
    await sandbox.close();
    clock.advance(100_000);

    const later = manualClock(clock.now());
    const second = await startTestSandbox({ dataDir, ...later });
    const [inboxAgain, workflowAgain] = [await createChat(second, 'agent_inbox'), await createChat(second)];
    expect(inboxAgain.source_id).toBe(inbox.source_id);
    expect((await second.admin('GET', '/script')).json.rules).toHaveLength(1);
    expect((await inboxAgain.page({}, chatToken)).status).toBe(200);
    expect(await inboxAgain.history()).toEqual(before.inbox);
    const repeated = await inboxAgain.send('b', { external_message_id: 'e2' });
    expect(repeated.json).toEqual({ message_id: before.inbox[1]?.message_id, created: false });
    later.advance(0);
    expect(texts((await inboxAgain.history()).slice(4))).toEqual(['second a']);
    expect(texts((await workflowAgain.history()).slice(3))).toEqual(['first d', 'second d']);
    later.advance(1_000);
    expect(texts((await inboxAgain.history()).slice(4))).toEqual(['second a', 'You said: b\nc']);
    expect(await workflowAgain.history()).toHaveLength(5);
  });

  test('takes less than 4 seconds of CPU time with 20,000 messages', async () => {
    const dataDir = await temporaryDirectory();
    await runOn(dataDir, START, async (on) => {
      const { source_id } = await createChat(on);
      const body = { source_id, session_id: 's1', role: 'assistant', text: 'Message {n}', count: 20_000 };
      expect((await on.admin('POST', '/messages', body)).status).toBe(201);
    });
    const opening = startTestSandbox({ dataDir });
    expect(await cpuMsOf(() => opening)).toBeLessThan(4_000);
    const chat = await createChat(await opening);
    expect(texts(await chat.history({ page_size: '1000' })).at(-1)).toBe('Message 20000');
  });

  test('keeps uploads, and removes files without a record', async () => {
    const dataDir = await temporaryDirectory();
    const before = await runOn(dataDir, START, async (on) => {
      await postForm(on, ATTACHMENTS, fileForm('one', 'journal.jsonl'));
      await postForm(on, DOCUMENTS, fileForm('two'));
      await on.partner('POST', DOCUMENTS, { body: { name: 'n', content: 'three' } });
      return (await on.admin('GET', '/uploads')).json.uploads;
    });
    await writeFile(join(dataDir, 'sandbox-uploads', 'att_0123456789abcdef0123'), 'half');
    const again = await startTestSandbox({ dataDir });
    expect(await expectWholeUploads(again, dataDir)).toEqual(before);
    expect(before.map((each: { sha256: string }) => each.sha256)).toEqual(['one', 'two', 'three'].map(sha256));
  });

  test('keeps jobs, their last runs, and their sessions; a deleted job stays deleted', async () => {
    const dataDir = await temporaryDirectory();
    const before = await runOn(dataDir, START, async (on, machine) => {
      const { create, jobs, history, chat } = await createCronClient(on);
      const [kept, , deleted] = [
        await create('0 */6 *', 'Europe/Berlin'),
        await create('* * 1'),
        await create('* * *'),
      ];
      machine.advance(12 * HOUR + MINUTE);
      await on.admin('DELETE', `/cron-jobs/${deleted.cron_job_id}`);
      return { source_id: chat.source_id, jobs: await jobs(), kept, history: await history(kept) };
    });
    expect(before.history).toHaveLength(4);
    await runOn(dataDir, START + 12 * HOUR + MINUTE, async (on) => {
      const { jobs, history, chat } = await createCronClient(on);
      expect(chat.source_id).toBe(before.source_id);
      expect(await jobs()).toEqual(before.jobs);
      expect(before.jobs).toHaveLength(2);
      expect(await history(before.kept)).toEqual(before.history);
    });
  });

  test.each([
    ['hours', '0 * *', 5 * HOUR + 30 * MINUTE, ['06:00']],
    ['more than a minute', '0 1 *', HOUR + MINUTE, []],
    ['less than a minute', '0 1 *', HOUR + MINUTE - 1, ['01:00']],
    ['ten minutes, with a job of every minute', '* * *', 10 * MINUTE + 30_000, ['00:10', '00:11']],
  ])('after %s makes up only for runs of the last minute', async (_, fields, away, moments) => {
    const dataDir = await temporaryDirectory();
    const job = await runOn(dataDir, START, async (on) => (await createCronClient(on)).create(fields));
    await runOn(dataDir, START + away, async (on, machine) => {
      const { history, jobs } = await createCronClient(on);
      machine.advance(0);
      machine.advance(MINUTE / 2);
      if (fields === '0 * *') machine.advance(MINUTE * 30);
      const runs = (await history(job)).filter(({ role }) => role === 'user');
      expect(runs.map(({ external_message_id }) => external_message_id?.slice(16, 21))).toEqual(moments);
      expect(Date.parse((await jobs())[0]?.next_run_at ?? '')).toBeGreaterThan(machine.now());
    });
  });

  test('repeats no run, however often it happens', async () => {
    const dataDir = await temporaryDirectory();
    const job = await runOn(dataDir, START, async (on, machine) => {
      const created = await (await createCronClient(on)).create('* * *');
      machine.advance(5 * MINUTE);
      return created;
    });
    for (let restart = 0; restart < 3; restart += 1) {
      await runOn(dataDir, START + 5 * MINUTE, async (_, machine) => machine.advance(0));
    }
    const runs = await runOn(dataDir, START + 5 * MINUTE, async (on) => (await createCronClient(on)).runs(job));
    expect(runs).toHaveLength(5);
  });

  test('keeps the clock ahead or frozen', async () => {
    const dataDir = await temporaryDirectory();
    const job = await runOn(dataDir, START, async (on) => {
      const { create, clock } = await createCronClient(on);
      const created = await create('0 0 *');
      await clock({ advance: '7d' });
      return created;
    });
    await runOn(dataDir, START + HOUR, async (on) => {
      const { clock, runs } = await createCronClient(on);
      expect((await clock({})).json).toEqual({ now: '2026-01-08T01:00:00.000Z', frozen: false });
      expect((await clock({ frozen: true, advance: '1h' })).json.frozen).toBe(true);
      expect(await runs(job)).toHaveLength(7);
    });
    await runOn(dataDir, START + 1_000 * HOUR, async (on, machine) => {
      const { clock, runs } = await createCronClient(on);
      machine.advance(48 * HOUR);
      expect((await clock({})).json).toEqual({ now: '2026-01-08T02:00:00.000Z', frozen: true });
      expect(await runs(job)).toHaveLength(7);
      await clock({ advance: '22h' });
      expect((await runs(job)).at(-1)).toBe('2026-01-09T00:00:00.000Z');
    });
  });

  test('adds the defaults of newer settings to those of an earlier version', async () => {
    const dataDir = await temporaryDirectory();
    const change = { kind: 'settings', settings: { page_size: 7 } };
    await writeFile(join(dataDir, 'journal.jsonl'), `${JSON.stringify([change])}\n`);
    const { admin } = await startTestSandbox({ dataDir });
    expect((await admin('GET', '/settings')).json).toMatchObject({ page_size: 7, balance_usd: 100 });
  });
});

describe('the journal', () => {
  test('records a reply even if no request waits for it', async () => {
    const dataDir = await temporaryDirectory();
    const clock = manualClock();
    const chat = await createChat(await startTestSandbox({ dataDir, ...clock }));
    await chat.send('Hello');
    clock.advance(50);
    const lastChange = async () => (await recoverJournal(join(dataDir, 'journal.jsonl'))).at(-1);
    const message = expect.objectContaining({ role: 'assistant' });
    await expect.poll(lastChange).toEqual({ kind: 'message', message, needs_reply: false });
  });

  test('is written while the clock advances, not only at the end', async () => {
    const dataDir = await temporaryDirectory();
    const script = [{ pattern: '.', fail: 'silent' as const }];
    const { create, clock } = await createCronClient(
      await startTestSandbox({ dataDir, ...manualClock(START), script }),
    );
    await create('* * *', 'UTC', { instructions: 'x'.repeat(20_000) });
    await clock({ advance: '1d' });
    // Each line is one write.
    const lines = (await readFile(join(dataDir, 'journal.jsonl'), 'utf8')).split('\n').filter((line) => line !== '');
    expect(lines.length).toBeGreaterThan(10);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(4_000_000);
  });
});

describe('the data directory', () => {
  test('is private to its owner and contains no secrets of tokens', async () => {
    const dataDir = join(await temporaryDirectory(), 'new', 'data');
    const on = await startTestSandbox({ dataDir });
    const { source_id } = await createChat(on);
    const issued = [
      on.token,
      (await on.admin('POST', '/tokens', {})).json.token,
      (await on.admin('POST', '/chat-tokens', { source_id })).json.token,
    ];
    const { json } = await postForm(on, ATTACHMENTS, fileForm('x', '../../../x'));
    for (const directory of [dataDir, join(dataDir, 'sandbox-uploads')]) {
      expect((await stat(directory)).mode & 0o777).toBe(0o700);
    }
    const upload = join('sandbox-uploads', json.file_attachment_id);
    expect((await readdir(dataDir)).sort()).toEqual(['admin-key', 'journal.jsonl', 'sandbox-uploads', 'sandbox.pid']);
    expect(await uploadedFiles(dataDir)).toEqual([json.file_attachment_id]);
    for (const name of ['admin-key', 'journal.jsonl', 'sandbox.pid', upload]) {
      expect((await stat(join(dataDir, name))).mode & 0o777).toBe(0o600);
      const content = await readFile(join(dataDir, name), 'utf8');
      for (const token of issued) expect(content).not.toContain(token.slice(4));
    }
  });

  test('is rejected and left unchanged if it has other content', async () => {
    const dataDir = join(await temporaryDirectory(), 'documents');
    await mkdir(dataDir, { mode: 0o755 });
    await writeFile(join(dataDir, 'thesis.txt'), 'x');
    await expect(startSandbox({ dataDir })).rejects.toThrow('is not empty and holds no sandbox data');
    expect(await readdir(dataDir)).toEqual(['thesis.txt']);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o755);
  });

  test('becomes private if it exists, and so does its journal', async () => {
    const dataDir = join(await temporaryDirectory(), 'open');
    await mkdir(dataDir, { mode: 0o755 });
    await writeFile(join(dataDir, 'journal.jsonl'), '', { mode: 0o644 });
    await startTestSandbox({ dataDir });
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    expect((await stat(join(dataDir, 'journal.jsonl'))).mode & 0o777).toBe(0o600);
  });

  test('is rejected while in use, and is free again after close', async () => {
    const dataDir = join(await temporaryDirectory(), 'data');
    const first = await startSandbox({ dataDir });
    await expect(startSandbox({ dataDir: `${dataDir}/../data` })).rejects.toThrow(/is in use by another sandbox/);
    await first.close();
    await startTestSandbox({ dataDir });
  });

  test.each([
    ['a process that no longer runs', '999999999 0', true],
    ['an earlier process with our process id, as in a container', `${process.pid} 0`, true],
    ['a running process', `${process.ppid} 0`, false],
    ['nobody, because it is damaged', '', false],
  ])('is taken over if claimed by %s: %s', async (_, owner, isFree) => {
    const dataDir = await temporaryDirectory();
    await writeFile(join(dataDir, 'sandbox.pid'), owner);
    if (isFree) await startTestSandbox({ dataDir });
    else await expect(startSandbox({ dataDir })).rejects.toThrow(`delete ${join(dataDir, 'sandbox.pid')}`);
  });

  test('is free again after a start that failed', async () => {
    const dataDir = await temporaryDirectory();
    const { sandbox } = await startTestSandbox();
    const port = Number(new URL(sandbox.baseUrl).port);
    await expect(startSandbox({ dataDir, port })).rejects.toThrow(/is in use/);
    await startTestSandbox({ dataDir });
  });

  test('does not store an admin key that was given as an option', async () => {
    const dataDir = await temporaryDirectory();
    await (await startSandbox({ dataDir, adminKey: 'given-key' })).close();
    const { sandbox } = await startTestSandbox({ dataDir });
    expect(sandbox.adminKey).not.toBe('given-key');
    for (const name of await readdir(dataDir)) {
      expect(await readFile(join(dataDir, name), 'utf8')).not.toContain('given-key');
    }
  });

  test('loses its uploads on a reset, and keeps later ones', async () => {
    const dataDir = await temporaryDirectory();
    await runOn(dataDir, START, (on) => postForm(on, ATTACHMENTS, fileForm('old')));
    const on = await startTestSandbox({ dataDir });
    await postForm(on, DOCUMENTS, fileForm('new'));
    expect(await uploadedFiles(dataDir)).toHaveLength(2);
    expect((await on.admin('POST', '/reset', {})).status).toBe(204);
    expect(await expectWholeUploads(on, dataDir)).toEqual([]);
    await postForm(on, DOCUMENTS, fileForm('newest'));
    expect(await expectWholeUploads(on, dataDir)).toHaveLength(1);
  });
});

test('a sandbox without a data directory stores uploads in a temporary one, which close removes', async () => {
  const parent = await temporaryDirectory();
  vi.stubEnv('TMPDIR', parent);
  try {
    const sandbox = await startSandbox();
    expect(await readdir(parent)).toEqual([]);
    const on = connectTo(sandbox, await sandbox.createToken());
    const { json } = await postForm(on, ATTACHMENTS, fileForm('x'));
    const [directory = ''] = await readdir(parent);
    expect(await readdir(join(parent, directory))).toEqual([json.file_attachment_id]);
    expect((await stat(join(parent, directory))).mode & 0o777).toBe(0o700);
    await sandbox.close();
    expect(await readdir(parent)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});
