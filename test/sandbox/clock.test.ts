import { expect, test } from 'vitest';
import { service } from '../support/service.ts';

async function withClock() {
  let machine = Date.UTC(2026, 0, 1);
  const { admin, partner } = await service({ now: () => machine });
  return {
    partner,
    change: (body: object) => admin('PATCH', '/clock', body),
    pass: (ms: number): void => {
      machine += ms;
    },
    show: async () => (await admin('GET', '/clock')).json,
  };
}

test("The clock runs with the machine's, stops while it is frozen, and goes on from where it stopped", async () => {
  const { show, pass, change } = await withClock();
  pass(1_500);
  expect(await show()).toEqual({ now: '2026-01-01T00:00:01.500Z', frozen: false });
  expect((await change({ frozen: true })).json).toEqual({ now: '2026-01-01T00:00:01.500Z', frozen: true });
  pass(5_000);
  expect((await change({ advance: '1.5h' })).json).toEqual({ now: '2026-01-01T01:30:01.500Z', frozen: true });
  expect((await change({ frozen: false })).json).toEqual({ now: '2026-01-01T01:30:01.500Z', frozen: false });
  pass(500);
  expect((await show()).now).toBe('2026-01-01T01:30:02.000Z');
});

test('A response of the service has the date of its clock, by which a client reads its times', async () => {
  const { change, partner } = await withClock();
  await change({ frozen: true, advance: '7d' });
  const { headers } = await partner('GET', '/automation/spaces/');
  expect(headers.date).toBe('Thu, 08 Jan 2026 00:00:00 GMT');
});
