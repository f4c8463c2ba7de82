import { expect, test } from 'vitest';
import { createCronClient } from '../support/cron.ts';
import { propertyRuns } from '../support/properties.ts';
import { SPACES, service } from '../support/service.ts';

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
  const { headers } = await partner('GET', SPACES);
  expect(headers.date).toBe('Thu, 08 Jan 2026 00:00:00 GMT');
});

test('While days of a minutely job pass, other requests are answered, and each run happens once', async () => {
  const hours = propertyRuns(14 * 24, 8);
  const on = await service();
  await on.admin('PATCH', '/clock', { frozen: true });
  const { create, history, clock } = await createCronClient(on);
  const job = await create('* * *');
  let isOver = false;
  const advancing = clock({ advance: `${hours}h` }).finally(() => {
    isOver = true;
  });
  let answered = 0;
  while (!isOver) {
    expect((await on.partner('GET', SPACES)).status).toBe(200);
    answered += 1;
  }
  await advancing;
  expect(answered).toBeGreaterThan(1);
  // Each run, and the reply to it.
  const messages = await history(job);
  expect(messages).toHaveLength(2 * hours * 60);
  expect(new Set(messages.map(({ message_id }) => message_id)).size).toBe(messages.length);
});

test('A time that the clock cannot show is refused, and not stored', async () => {
  const { change, show } = await withClock();
  await change({ frozen: true });
  const refused = await change({ advance: '999999999d' });
  expect([refused.status, refused.json.error.fields[0].path]).toEqual([422, 'advance']);
  expect(await show()).toEqual({ now: '2026-01-01T00:00:00.000Z', frozen: true });
});
