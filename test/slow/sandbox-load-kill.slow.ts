import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { recoverJournal } from '../../src/sandbox/store/journal.ts';
import { type Chat, createChat, type HistoryEntry } from '../support/sandbox-chat.ts';
import {
  connectToChild,
  PROVISION,
  provisionBody,
  SPACES,
  startTestSandbox,
  type TestSandbox,
} from '../support/sandbox-client.ts';
import { createCronClient, type Job } from '../support/sandbox-cron.ts';
import { type ChildSandbox, prepareChildSandboxes, temporaryDirectory } from '../support/sandbox-process.ts';
import {
  ATTACHMENTS,
  expectWholeUploads,
  fileForm,
  idOf,
  postForm,
  streamForm,
  uploadedFiles,
} from '../support/sandbox-uploads.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const startChild = prepareChildSandboxes();

/** Runs workers without a pause until `isEnough`, then kills the sandbox while more requests are in progress. */
async function loadAndKill(
  child: ChildSandbox,
  workers: number,
  isEnough: () => boolean,
  request: (worker: number, number: number) => Promise<void>,
): Promise<void> {
  let ended = false;
  const work = async (worker: number): Promise<void> => {
    for (let number = 0; !ended; number += 1) {
      await request(worker, number).catch(() => undefined);
      if (!isEnough() || ended) continue;
      ended = true;
      await child.kill();
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
}

test('kill -9 releases the data directory immediately', async () => {
  const dataDir = await temporaryDirectory();
  const child = await startChild(dataDir);
  await expect(startSandbox({ dataDir })).rejects.toThrow(/is in use by another sandbox/);
  await child.kill();
  const { partner } = await startTestSandbox({ dataDir });
  expect((await partner('GET', SPACES, { token: child.token })).status).toBe(200);
});

describe('kill -9 during chats', () => {
  const SESSIONS = ['s1', 's2', 's3'];

  /** The texts that replies answer; an inbox answers several at once. */
  function answeredTexts(entries: readonly HistoryEntry[]): string[] {
    return entries
      .filter(({ role }) => role === 'assistant')
      .flatMap(({ text }) => text.replace('You said: ', '').split('\n'));
  }

  function userTexts(entries: readonly HistoryEntry[]): string[] {
    return entries.filter(({ role }) => role === 'user').map(({ text }) => text);
  }

  /** A chat of each routing mode. */
  async function createChats(on: TestSandbox): Promise<Chat[]> {
    return [await createChat(on, 'session_workflow'), await createChat(on, 'agent_inbox')];
  }

  const histories = (chats: readonly Chat[]): Promise<HistoryEntry[][]> =>
    Promise.all(chats.flatMap((chat) => SESSIONS.map((session_id) => chat.history({ session_id }))));

  test('keeps every acknowledged message once, with one reply, whatever the routing mode', async () => {
    const dataDir = await temporaryDirectory();
    const acknowledged = new Map<string, string>();
    // Rounds of different lengths end at different moments between a message and its reply.
    for (const [round, enough] of [1, 20, 80].entries()) {
      const child = await startChild(dataDir);
      const chats = await createChats(connectToChild(child));
      const goal = acknowledged.size + enough;
      await loadAndKill(
        child,
        8,
        () => acknowledged.size >= goal,
        async (worker, number) => {
          const text = `r${round}-w${worker}-${number}`;
          const more = { external_message_id: text, session_id: SESSIONS[number % SESSIONS.length] };
          const sent = await chats[worker % chats.length]?.send(text, more);
          if (sent?.status === 201) acknowledged.set(sent.json.message_id, text);
        },
      );
    }
    expect(acknowledged.size).toBeGreaterThan(100);
    const chats = await createChats(await startTestSandbox({ dataDir }));
    const isIdle = async (): Promise<boolean> =>
      (await histories(chats)).every((entries) => answeredTexts(entries).length >= userTexts(entries).length);
    await expect.poll(isIdle).toBe(true);

    const sessions = await histories(chats);
    for (const entries of sessions) {
      const sent = userTexts(entries);
      expect(new Set(sent).size).toBe(sent.length);
      expect(answeredTexts(entries).toSorted()).toEqual(sent.toSorted());
    }
    const all = sessions.flat();
    const byId = new Map(all.map((entry) => [entry.message_id, entry.text]));
    expect(byId.size).toBe(all.length);
    for (const [message_id, text] of acknowledged) expect(byId.get(message_id)).toBe(text);
  });

  test('changes nothing that a reader has seen', async () => {
    const dataDir = await temporaryDirectory();
    const child = await startChild(dataDir);
    const chat = await createChat(connectToChild(child));
    let seen: HistoryEntry[] = [];
    for (let sent = 1; answeredTexts(seen).length < 20; sent += 1) {
      await chat.send(`m${sent}`);
      seen = await chat.history();
    }
    await child.kill();
    const again = await createChat(await startTestSandbox({ dataDir }));
    expect((await again.history()).slice(0, seen.length)).toEqual(seen);
  });
});

describe('kill -9 around scheduled jobs', () => {
  /** The external ids of a job's runs, after a check that no run and no reply occurs twice. */
  function runsOf(entries: readonly HistoryEntry[]): string[] {
    const prompts = entries.filter(({ role }) => role === 'user');
    const moments = prompts.map(({ external_message_id }) => external_message_id ?? '');
    expect(moments).toEqual([...new Set(moments)].toSorted());
    const answered = entries.filter(({ role }) => role === 'assistant').map(({ in_reply_to }) => in_reply_to);
    expect(new Set(answered).size).toBe(answered.length);
    return moments;
  }

  test('while the clock is moved loses no run and repeats none', async () => {
    const dataDir = await temporaryDirectory();
    let job: Job | undefined;
    const acknowledged: string[] = [];
    for (const pause of [0, 2, 5]) {
      const child = await startChild(dataDir);
      const on = connectToChild(child);
      const { create, clock, jobs } = await createCronClient(on);
      if (!job) {
        await clock({ frozen: true });
        job = await create('* * *', 'Europe/Berlin', { instructions: `Report. ${'x'.repeat(2_000)}` });
      }
      const before = (await jobs())[0]?.last_run_at;
      const moving = on.admin('PATCH', '/clock', { advance: '30d' }).then(
        () => 'arrived',
        () => 'killed',
      );
      for (let count = 0; count < pause || (await jobs())[0]?.last_run_at === before; count += 1) await jobs();
      acknowledged.push((await jobs())[0]?.last_run_at ?? '');
      await child.kill();
      expect(await moving).toBe('killed');
    }
    const { clock, history } = await createCronClient(await startTestSandbox({ dataDir }));
    const { now, frozen } = (await clock({ advance: '50ms' })).json;
    expect(frozen).toBe(true);
    if (!job) throw new Error('There is no job.');
    const entries = await history(job);
    expect(Date.parse(entries.at(-1)?.created_at ?? '')).toBeLessThanOrEqual(Date.parse(now));
    const moments = runsOf(entries);
    const minutes = moments.map((moment) => Date.parse(moment.replace('cron:', '')) / MINUTE);
    const first = minutes[0] ?? 0;
    expect(minutes).toEqual(minutes.map((_, index) => first + index));
    for (const moment of acknowledged) expect(moments).toContain(`cron:${moment}`);
    expect(entries.filter(({ role }) => role === 'assistant')).toHaveLength(moments.length);
    expect((await recoverJournal(join(dataDir, 'journal.jsonl'))).length).toBeGreaterThan(moments.length);
  });

  test("at the moment of a run on the machine's own timers keeps the run once", async () => {
    const dataDir = await temporaryDirectory();
    const child = await startChild(dataDir);
    const { create, clock, runs } = await createCronClient(connectToChild(child));
    const job = await create('0 12 *');
    const day = new Date(Date.now() + 24 * HOUR).toISOString().slice(0, 10);
    // Frozen, so that the time cannot come before the earlier runs are counted.
    await clock({ frozen: true, set: `${day}T11:59:59.700Z` });
    const earlier = (await runs(job)).length;
    await clock({ frozen: false });
    await expect.poll(() => runs(job), { interval: 5 }).toHaveLength(earlier + 1);
    await child.kill();
    const again = await createCronClient(await startTestSandbox({ dataDir }));
    await again.clock({ advance: '1s' });
    expect(runsOf(await again.history(job))).toHaveLength(earlier + 1);
    expect((await again.jobs())[0]?.last_run_at).toBe(`${day}T12:00:00.000Z`);
  });
});

test('kill -9 during uploads keeps every acknowledged one completely, and no file of the others', async () => {
  const dataDir = await temporaryDirectory();
  const child = await startChild(dataDir);
  const on = connectToChild(child);
  const acknowledged = new Set<string>();
  const upload = async (name: string): Promise<void> => {
    for (let number = 0; ; number += 1) {
      const response = await postForm(on, ATTACHMENTS, fileForm(`${name}-${number}`.repeat(5_000))).catch(
        () => undefined,
      );
      if (response === undefined) return;
      expect(response.status).toBe(201);
      acknowledged.add(response.json.file_attachment_id);
    }
  };
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield fileForm('x'.repeat(100_000)).subarray(0, 90_000);
    await new Promise(() => undefined);
  }
  const uploading = ['a', 'b', 'c', 'd'].map(upload);
  const broken = streamForm(on, ATTACHMENTS, endless()).catch(() => 'broken');
  while (acknowledged.size < 40 || (await uploadedFiles(dataDir)).length <= acknowledged.size) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await child.kill();
  expect(await broken).toBe('broken');
  await Promise.all(uploading);

  const again = await startTestSandbox({ dataDir });
  const ids = (await expectWholeUploads(again, dataDir)).map(idOf);
  for (const id of acknowledged) expect(ids).toContain(id);
  // At most one more for each worker: recorded, but the response was lost.
  expect(ids.length - acknowledged.size).toBeLessThanOrEqual(4);
});

describe('a full disk', () => {
  test('turns every response into a 500 from then on, and what was acknowledged before is kept', async () => {
    const dataDir = await temporaryDirectory();
    // 32 blocks of 512 bytes (of 1024 in some shells): room for a few dozen spaces.
    const child = await startChild(dataDir, { limits: 'ulimit -f 32' });
    const { partner } = connectToChild(child);
    const acknowledged = new Map<string, string>();
    let status = 201;
    for (let number = 0; number < 1_000 && status === 201; number += 1) {
      const response = await partner('POST', PROVISION, { body: provisionBody(`s-${number}`) });
      status = response.status;
      if (status === 201) acknowledged.set(`s-${number}`, response.json.space.space_id);
    }
    expect(status).toBe(500);
    expect(acknowledged.size).toBeGreaterThan(5);
    expect((await partner('GET', SPACES)).status).toBe(500);
    await child.kill();
    const again = await startTestSandbox({ dataDir });
    for (const [id, space_id] of acknowledged) {
      const response = await again.partner('POST', PROVISION, { body: provisionBody(id) });
      expect([response.status, response.json.space.space_id]).toEqual([200, space_id]);
    }
  });

  test('turns an upload into a 500 and leaves no file, and small uploads still work', async () => {
    const dataDir = await temporaryDirectory();
    // 200 blocks of 512 bytes (of 1024 in some shells).
    const on = connectToChild(await startChild(dataDir, { limits: 'ulimit -f 200' }));
    const { status } = await postForm(on, ATTACHMENTS, fileForm('x'.repeat(2_000_000)));
    expect(status).toBe(500);
    expect(await uploadedFiles(dataDir)).toEqual([]);
    expect((await postForm(on, ATTACHMENTS, fileForm('x'))).status).toBe(201);
    expect(await expectWholeUploads(on, dataDir)).toHaveLength(1);
  });
});
