import { describe, expect, test } from 'vitest';
import type { FaultPlan } from '../../src/sandbox/sandbox.ts';
import { type Chat, createChat, HISTORY, type HistoryEntry, manualClock } from '../support/sandbox-chat.ts';
import { call, startTestSandbox, type TestSandbox } from '../support/sandbox-client.ts';

/** A session of that many messages, `1` to `<count>`. */
async function withMessages(count: number, faults: FaultPlan = { rules: [] }) {
  const on = await startTestSandbox({ ...manualClock(), faults });
  const chat = await createChat(on);
  if (count > 0) await inject(on, chat, { count, text: '{n}' });
  return { ...on, chat };
}

function inject({ admin }: Pick<TestSandbox, 'admin'>, { source_id }: Chat, more: Record<string, unknown>) {
  return admin('POST', '/messages', { source_id, session_id: 's1', role: 'assistant', ...more });
}

function texts(entries: readonly HistoryEntry[]): string[] {
  return entries.map(({ text }) => text);
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`);
}

/** The faults of all logged requests. */
async function loggedFaults({ admin }: Pick<TestSandbox, 'admin'>): Promise<(string | null)[]> {
  const { requests } = (await admin('GET', '/requests')).json;
  return requests.map(({ fault }: { fault: string | null }) => fault);
}

function cursorOf(next: string): string {
  return new URL(next).searchParams.get('after_message_id') ?? '';
}

describe('the history', () => {
  test('of a session without messages is empty', async () => {
    const { chat } = await withMessages(0);
    const { status, json } = await chat.page();
    expect([status, json]).toEqual([200, { next: null, previous: null, results: [] }]);
  });

  test('contains the messages after the cursor, in order', async () => {
    const { chat } = await withMessages(5);
    const all = await chat.history();
    expect(texts(all)).toEqual(numbers(1, 5));
    for (const [index, { message_id }] of all.entries()) {
      expect(await chat.history({ after_message_id: message_id })).toEqual(all.slice(index + 1));
    }
  });

  test('comes in pages of the requested size, or of the size in the settings', async () => {
    const { chat, admin } = await withMessages(7);
    await admin('PATCH', '/settings', { page_size: 3 });
    const { json } = await chat.page();
    expect(texts(json.results)).toEqual(['1', '2', '3']);
    expect(json.next).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1\/integrations\/api-chat\/history\/\?/);
    expect(texts(await chat.history())).toEqual(numbers(1, 7));
    const two = await chat.page({ page_size: '2', after_message_id: json.results[2].message_id });
    expect(texts(two.json.results)).toEqual(['4', '5']);
    expect(new URL(two.json.next).searchParams.get('page_size')).toBe('2');
    const rest = await chat.page({ page_size: '4', after_message_id: json.results[2].message_id });
    expect([texts(rest.json.results), rest.json.next]).toEqual([['4', '5', '6', '7'], null]);
  });

  test('shows messages that arrive while it is read at its end', async () => {
    const { chat, token } = await withMessages(3);
    const first = await chat.page({ page_size: '2' });
    await chat.send('new');
    const second = await call('GET', first.json.next, { token });
    expect(texts(second.json.results)).toEqual(['3', 'new']);
  });

  test('of a session whose id needs escaping is found on every page', async () => {
    const { chat, admin } = await withMessages(0);
    const session_id = 'a b&c=d/é🙂?#%';
    await inject({ admin }, chat, { session_id, count: 3, text: '{n}' });
    expect(texts(await chat.history({ session_id, page_size: '1' }))).toEqual(['1', '2', '3']);
    expect(await chat.history()).toEqual([]);
  });

  test('has pages of at most 8 Mi characters', async () => {
    const { chat, admin } = await withMessages(0);
    await inject({ admin }, chat, { count: 20, text: 'x'.repeat(1024 * 1024) });
    const { json } = await chat.page();
    expect(json.results).toHaveLength(8);
    expect(await chat.history()).toHaveLength(20);
  });

  test('of 10,000 messages is read in pages, each message once and in order', async () => {
    const { chat } = await withMessages(10_000);
    const entries = await chat.history({ page_size: '1000' });
    expect(texts(entries)).toEqual(numbers(1, 10_000));
    expect(new Set(entries.map(({ message_id }) => message_id)).size).toBe(10_000);
    const moments = entries.map(({ created_at }) => created_at);
    expect(moments).toEqual([...new Set(moments)].toSorted());
  });

  test('of an unknown source is 404', async () => {
    const { chat } = await withMessages(1);
    const { status, json } = await chat.page({ source_id: 'src_none' });
    expect([status, json.error.code]).toEqual([404, 'source_not_found']);
  });

  test('after a cursor that is no message of the session is 422', async () => {
    const { chat, admin } = await withMessages(1);
    const { last_message_id } = (await inject({ admin }, chat, { session_id: 's2', text: 'x' })).json;
    for (const query of [
      { after_message_id: 'msg_none' },
      { after_message_id: '' },
      { after_message_id: last_message_id },
      { after_message_id: last_message_id, session_id: 'empty' },
    ]) {
      const { status, json } = await chat.page(query);
      expect([status, json.error.code]).toEqual([422, 'unknown_cursor']);
      expect(json.error.fields).toEqual([{ path: 'after_message_id', message: expect.any(String) }]);
    }
  });
});

describe('injected messages', () => {
  test('have either role, keep their text, and get no reply', async () => {
    const clock = manualClock();
    const on = await startTestSandbox(clock);
    const chat = await createChat(on);
    const one = await inject(on, chat, { role: 'user', text: 'n is {n} 🙂\r\n' });
    const two = await inject(on, chat, { text: 'reply' });
    expect([one.status, two.json.created]).toEqual([201, 1]);
    clock.advance(10_000);
    const [first, second, ...others] = await chat.history();
    expect(first).toMatchObject({ role: 'user', text: 'n is {n} 🙂\r\n', external_message_id: null });
    expect(second).toMatchObject({ role: 'assistant', text: 'reply', message_id: two.json.last_message_id });
    expect(others).toEqual([]);
  });

  test('end at the present if there are many', async () => {
    const { chat, admin } = await withMessages(0);
    const { json } = await inject({ admin }, chat, { count: 1_000, text: '{n}' });
    const entries = await chat.history();
    expect(entries.at(0)?.message_id).toBe(json.first_message_id);
    expect(entries.at(-1)).toMatchObject({
      message_id: json.last_message_id,
      text: '1000',
      created_at: '2026-01-01T00:00:00.000Z',
    });
  });

  test('require an existing source, and are limited in number', async () => {
    const { chat, admin } = await withMessages(0);
    expect((await inject({ admin }, chat, { source_id: 'src_none', text: 'x' })).status).toBe(404);
    const tooMuch = await inject({ admin }, chat, { text: 'x'.repeat(1_000), count: 200_000 });
    expect(tooMuch.status).toBe(422);
    expect(await chat.history()).toEqual([]);
  });
});

describe('quirks of the history', () => {
  async function pages(chat: Chat, size: string): Promise<string[][]> {
    const seen: string[][] = [];
    let after: Record<string, string> = {};
    for (;;) {
      const { json } = await chat.page({ page_size: size, ...after });
      seen.push(texts(json.results));
      if (json.next === null) return seen;
      after = { after_message_id: cursorOf(json.next) };
    }
  }

  test.each<[FaultPlan['rules'][number], string, string[][]]>([
    [
      { kind: 'repeat', messages: 3 },
      '2',
      [
        ['1', '2'],
        ['1', '2', '3', '4'],
        ['2', '3', '4', '5'],
      ],
    ],
    [
      { kind: 'reorder' },
      '3',
      [
        ['2', '1', '3'],
        ['5', '4'],
      ],
    ],
    [{ kind: 'short_page' }, '4', [['1', '2'], ['3', '4'], ['5']]],
  ])('include %j, which changes pages of %s messages to %j', async (rule, size, expected) => {
    const { chat } = await withMessages(5, { rules: [rule] });
    expect(await pages(chat, size)).toEqual(expected);
  });

  test('include a repeat on a page without new messages', async () => {
    const { chat } = await withMessages(3, { rules: [{ kind: 'repeat', skip: 1 }] });
    const after_message_id = (await chat.history()).at(-1)?.message_id ?? '';
    expect(texts(await chat.history({ after_message_id }))).toEqual(['2', '3']);
  });

  test('apply only to reads of the history', async () => {
    const { chat, partner, admin } = await withMessages(2, { rules: [{ kind: 'reorder', times: 1 }] });
    await partner('GET', '/automation/spaces/');
    await chat.send('3');
    expect(texts(await chat.history())).toEqual(['2', '1', '3']);
    expect(texts(await chat.history())).toEqual(['1', '2', '3']);
    expect((await loggedFaults({ admin })).filter((fault) => fault !== null)).toHaveLength(1);
  });

  test('let a patient reader see every message, even together with all faults', async () => {
    const on = { on: `GET ${HISTORY}`, rate: 0.06 };
    const { chat, admin } = await withMessages(500, {
      seed: 11,
      rules: [
        { ...on, kind: 'reset' },
        { ...on, kind: 'reset', stage: 'after' },
        { ...on, kind: 'cut' },
        { ...on, kind: 'status', status: 503 },
        { ...on, kind: 'status', status: 429 },
        { ...on, kind: 'garbage' },
        { ...on, kind: 'repeat', rate: 0.3 },
        { ...on, kind: 'reorder', rate: 0.4 },
        { ...on, kind: 'short_page', rate: 0.4 },
      ],
    });
    const known = new Map<string, HistoryEntry>();
    let cursor: Record<string, string> = {};
    for (;;) {
      const response = await chat.page({ page_size: '7', ...cursor }).catch(() => undefined);
      if (!response?.json?.results) continue;
      for (const entry of response.json.results) known.set(entry.message_id, entry);
      if (response.json.next === null) break;
      cursor = { after_message_id: cursorOf(response.json.next) };
    }
    const sorted = [...known.values()].toSorted((one, other) => one.created_at.localeCompare(other.created_at));
    expect(texts(sorted)).toEqual(numbers(1, 500));
    expect(new Set(await loggedFaults({ admin })).size).toBe(9);
  });
});
