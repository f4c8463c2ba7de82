import { expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { startTestSandbox } from '../support/service.ts';

async function withClock() {
  let machine = Date.UTC(2026, 0, 1);
  const on = await startTestSandbox({ now: () => machine });
  const change = (body: object) => on.admin('PATCH', '/clock', body);
  return {
    ...on,
    change,
    pass: (ms: number): void => {
      machine += ms;
    },
    show: async () => (await on.admin('GET', '/clock')).json,
  };
}

test("The clock runs with the machine's, stops while it is frozen, and goes on from where it stopped", async () => {
  const { show, pass, change } = await withClock();
  pass(1_500);
  expect(await show()).toEqual({ now: '2026-01-01T00:00:01.500Z', frozen: false });
  expect((await change({ frozen: true })).json).toEqual({ now: '2026-01-01T00:00:01.500Z', frozen: true });
  pass(5_000);
  expect((await show()).now).toBe('2026-01-01T00:00:01.500Z');
  expect((await change({ advance: '1s' })).json).toEqual({ now: '2026-01-01T00:00:02.500Z', frozen: true });
  expect((await change({ frozen: false })).json).toEqual({ now: '2026-01-01T00:00:02.500Z', frozen: false });
  pass(500);
  expect((await show()).now).toBe('2026-01-01T00:00:03.000Z');
});

test.each([
  [{ advance: '1.5h' }, '2026-01-01T01:30:00.000Z'],
  [{ advance: '250ms' }, '2026-01-01T00:00:00.250Z'],
  [{ set: '2026-02-01T00:00:00+01:00' }, '2026-01-31T23:00:00.000Z'],
])('The clock moves by %j', async (body, now) => {
  const { change } = await withClock();
  expect((await change(body)).json.now).toBe(now);
});

test.each([
  [{ set: '2025-12-31T23:59:59Z' }, 'set must not be before 2026-01-01T00:00:00.000Z'],
  [{ set: '2037-01-01T00:00:00Z' }, 'set must be within ten years'],
  [{ set: 'tomorrow' }, 'set must be a timestamp such as 2030-01-31T09:00:00Z'],
  [{ advance: '-1d' }, 'advance must be a duration such as 7d, 12h, 30m, 10s, or 500ms'],
  [{ set: '2026-02-01T00:00:00Z', advance: '1d' }, 'must have set or advance, not both'],
])('The clock does not move by %j', async (body, message) => {
  const { change, show } = await withClock();
  const { status, json } = await change(body);
  expect([status, json.error.message]).toEqual([422, `Invalid input: ${message}.`]);
  expect((await show()).now).toBe('2026-01-01T00:00:00.000Z');
});

test('What is due happens by itself while the clock runs, and not before the machine is there', async () => {
  const on = await startTestSandbox();
  const chat = await createChat(on);
  await chat.send('Hello');
  await expect.poll(async () => (await chat.history()).length).toBe(2);
  const [message, reply] = await chat.history();
  expect(Date.parse(reply?.created_at ?? '') - Date.parse(message?.created_at ?? '')).toBeGreaterThanOrEqual(50);
});

test('Two moves wait for each other, and a reset goes back to the time of the machine', async () => {
  const { change, show, admin } = await withClock();
  await Promise.all([change({ advance: '1h' }), change({ advance: '1h' })]);
  expect((await show()).now).toBe('2026-01-01T02:00:00.000Z');
  await change({ frozen: true });
  expect((await admin('POST', '/reset', {})).status).toBe(204);
  expect(await show()).toEqual({ now: '2026-01-01T00:00:00.000Z', frozen: false });
});
