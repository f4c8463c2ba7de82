import { appendFile, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { readLines, writeLine } from '../../src/sandbox/store/lines.ts';
import { cpuMsOf } from '../helpers/cpu.ts';
import { type Chat, createChat, type HistoryEntry, manualClock } from './chat.ts';
import { type ChildSandbox, childSandboxes, temporaryDirectory } from './child-process.ts';
import { connectTo, connectToChild, startTestSandbox, type TestSandbox } from './client.ts';

const startChild = childSandboxes();

/** Ways to a sandbox that the test itself ends. */
async function open(options: SandboxOptions): Promise<TestSandbox> {
  const sandbox = await startSandbox(options);
  return connectTo(sandbox, await sandbox.createToken());
}

function texts(entries: readonly HistoryEntry[]): string[] {
  return entries.map(({ text }) => text);
}

describe('a restart', () => {
  /** Fills the journal with what no longer counts, and has it written anew. */
  async function rewriteJournal(dataDir: string): Promise<void> {
    const path = join(dataDir, 'journal.jsonl');
    const filler = JSON.stringify({ kind: 'template', template: { template_id: 'tmpl_support', name: 'S' } });
    await appendFile(path, writeLine(Array.from({ length: 3_000 }, () => filler)));
    const { size } = await stat(path);
    await (await startSandbox({ dataDir, ...manualClock(0) })).close();
    expect((await stat(path)).size).toBeLessThan(size / 10);
  }

  test.each([
    ['loses no message, and replies that were due come', () => Promise.resolve()],
    ['finds messages, pending replies and inboxes in a journal written anew', rewriteJournal],
  ])('%s', async (_, between) => {
    const dataDir = await temporaryDirectory();
    const script = [{ pattern: 'slow (.*)', replies: [{ text: 'first $1', delay_ms: 100 }, { text: 'second $1' }] }];
    const clock = manualClock();
    const first = await open({ dataDir, script, ...clock });
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
    await first.sandbox.close();
    clock.advance(100_000);
    await between(dataDir);

    const later = manualClock(clock.now());
    const second = await startTestSandbox({ dataDir, ...later });
    const [inboxAgain, workflowAgain] = [await createChat(second, 'agent_inbox'), await createChat(second)];
    expect(inboxAgain.source_id).toBe(inbox.source_id);
    expect((await second.admin('GET', '/script')).json.rules).toHaveLength(1);
    expect((await inboxAgain.page({}, chatToken)).status).toBe(200);
    expect(await inboxAgain.history()).toEqual(before.inbox);
    expect((await inboxAgain.send('b', { external_message_id: 'e2' })).json).toEqual({
      message_id: before.inbox[1]?.message_id,
      created: false,
    });
    later.advance(0);
    expect(texts((await inboxAgain.history()).slice(4))).toEqual(['second a']);
    expect(texts((await workflowAgain.history()).slice(3))).toEqual(['first d', 'second d']);
    later.advance(1_000);
    expect(texts((await inboxAgain.history()).slice(4))).toEqual(['second a', 'You said: b\nc']);
    expect(texts(await workflowAgain.history())).toHaveLength(5);
  });

  test('a reply that falls due after the end does no harm and comes with the next start', async () => {
    const dataDir = await temporaryDirectory();
    const clock = manualClock();
    const first = await open({ dataDir, ...clock });
    await (await createChat(first)).send('Hello');
    await first.sandbox.close();
    clock.advance(1_000);
    const later = manualClock(clock.now());
    const second = await startTestSandbox({ dataDir, ...later });
    const chat = await createChat(second);
    later.advance(0);
    expect(texts(await chat.history())).toEqual(['Hello', 'You said: Hello']);
  });

  test('a reply is on disk without anybody asking for it', async () => {
    const dataDir = await temporaryDirectory();
    const clock = manualClock();
    const chat = await createChat(await startTestSandbox({ dataDir, ...clock }));
    await chat.send('Hello');
    clock.advance(50);
    const written = async (): Promise<unknown[]> =>
      readLines(await readFile(join(dataDir, 'journal.jsonl'))).changes.slice(-1);
    const reply = { kind: 'message', message: expect.objectContaining({ role: 'assistant' }), waits: false };
    await expect.poll(written).toEqual([reply]);
  });

  test('is quick with 100,000 messages', async () => {
    const dataDir = await temporaryDirectory();
    const first = await open({ dataDir });
    const { source_id } = await createChat(first);
    const body = { source_id, session_id: 's1', role: 'assistant', text: 'Message {n}', count: 100_000 };
    expect((await first.admin('POST', '/messages', body)).status).toBe(201);
    await first.sandbox.close();
    const opening = startTestSandbox({ dataDir });
    expect(await cpuMsOf(() => opening)).toBeLessThan(15_000);
    const chat = await createChat(await opening);
    expect(texts(await chat.history({ page_size: '1000' })).at(-1)).toBe('Message 100000');
  });

  test('the secret of a chat token is in no file', async () => {
    const dataDir = await temporaryDirectory();
    const on = await startTestSandbox({ dataDir });
    const { source_id } = await createChat(on);
    const { token } = (await on.admin('POST', '/chat-tokens', { source_id })).json;
    for (const name of await readdir(dataDir)) {
      expect(await readFile(join(dataDir, name), 'utf8')).not.toContain(token.slice(4));
    }
  });
});

describe('kill -9', () => {
  const SESSIONS = ['s1', 's2', 's3'];

  interface Sent {
    readonly text: string;
    readonly message_id: string;
  }

  /** Sends without a pause until `enough` messages are acknowledged, then ends the process while more are under way. */
  async function load(chat: Chat, child: ChildSandbox, round: string, enough: number): Promise<Sent[]> {
    const acknowledged: Sent[] = [];
    let ended = false;
    const worker = async (name: string): Promise<void> => {
      for (let number = 0; !ended; number += 1) {
        const text = `${round}-${name}-${number}`;
        const more = { external_message_id: text, session_id: SESSIONS[number % SESSIONS.length] };
        const answer = await chat.send(text, more).catch(() => undefined);
        if (answer?.status === 201) acknowledged.push({ text, message_id: answer.json.message_id });
        if (acknowledged.length < enough || ended) continue;
        ended = true;
        await child.kill();
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, index) => worker(`w${index}`)));
    return acknowledged;
  }

  /** What the replies of a session answer, text by text: an inbox answers several at once. */
  function answered(entries: readonly HistoryEntry[]): string[] {
    return entries
      .filter(({ role }) => role === 'assistant')
      .flatMap(({ text }) => text.replace('You said: ', '').split('\n'));
  }

  test.each(['session_workflow', 'agent_inbox'] as const)(
    '%s: every message that was acknowledged is there once, and is answered once',
    async (mode) => {
      const dataDir = await temporaryDirectory();
      const acknowledged: Sent[] = [];
      // Rounds of different lengths end at different moments between a message and its reply.
      for (const [round, enough] of [1, 20, 60, 150, 90].entries()) {
        const child = await startChild(dataDir);
        const chat = await createChat(connectToChild(child), mode);
        acknowledged.push(...(await load(chat, child, `r${round}`, enough)));
      }
      expect(acknowledged.length).toBeGreaterThan(300);
      const chat = await createChat(await startTestSandbox({ dataDir }), mode);
      const idle = async (): Promise<boolean> => {
        const sessions = await Promise.all(SESSIONS.map((session_id) => chat.history({ session_id })));
        return sessions.every((entries) => {
          const heard = entries.filter(({ role }) => role === 'user').length;
          return answered(entries).length >= heard;
        });
      };
      await expect.poll(idle).toBe(true);

      const all: HistoryEntry[] = [];
      for (const session_id of SESSIONS) {
        const entries = await chat.history({ session_id });
        const heard = texts(entries.filter(({ role }) => role === 'user'));
        expect(new Set(heard).size).toBe(heard.length);
        expect(answered(entries).toSorted()).toEqual(heard.toSorted());
        all.push(...entries);
      }
      const byId = new Map(all.map((entry) => [entry.message_id, entry.text]));
      expect(byId.size).toBe(all.length);
      for (const { message_id, text } of acknowledged) expect(byId.get(message_id)).toBe(text);
    },
  );

  test('what a reader was shown stays as it was', async () => {
    const dataDir = await temporaryDirectory();
    const child = await startChild(dataDir);
    const chat = await createChat(connectToChild(child));
    let shown: HistoryEntry[] = [];
    let sent = 0;
    while (shown.filter(({ role }) => role === 'assistant').length < 20) {
      sent += 1;
      await chat.send(`m${sent}`);
      shown = await chat.history();
    }
    await child.kill();
    const again = await createChat(await startTestSandbox({ dataDir }));
    expect((await again.history()).slice(0, shown.length)).toEqual(shown);
  });
});
