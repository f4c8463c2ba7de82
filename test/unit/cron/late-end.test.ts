import { expect, it } from 'vitest';
import { createOnce, type GuardParts } from '../../../src/cron/create-once.ts';
import { factsOf } from '../../../src/cron/facts.ts';
import type { CronRecord } from '../../../src/cron/history.ts';
import { cronKey } from '../../../src/cron/job.ts';
import { fastClock } from '../../helpers/run.ts';

const ORIGIN = 'https://api.partner.test/v1';
const JOB = {
  agent_id: 'a1',
  name: 'daily',
  instructions: 'Sum up the day.',
  schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
};

it.each([
  [true, { status: 'exists', cron_job_id: 'c1' }],
  [false, { status: 'blocked', why: 'same', cron_job_id: 'c1' }],
])(
  'a process that recorded its job and ended after the file was read is not taken for one that died (ensure: %s)',
  async (ensure, expected) => {
    const clock = fastClock();
    const at = new Date(clock.now()).toISOString();
    const until = new Date(clock.now() + 60_000).toISOString();
    const owner = { machine: 'm', pid: 1, started: null };
    const head = { at, key: cronKey(ORIGIN, JOB.agent_id, JOB.name) };
    const facts = factsOf(ORIGIN, JOB);
    const records: CronRecord[] = [{ type: 'cron.reserved', id: 'r1', ...head, ...facts, owner, until, seen: [] }];
    const parts: GuardParts = {
      origin: ORIGIN,
      ledger: {
        read: async () => [...records],
        append: async (record) => void records.push(record),
        readAll: async () => ({ records: [...records] }),
        rescue: async () => undefined,
      },
      clock,
      newId: () => 'x',
      owner,
      // Between the reading and this look it did its last work.
      hasEnded: async () => {
        records.push({ type: 'cron.created', id: 'c', ...head, ...facts, reservation: 'r1', cron_job_id: 'c1' });
        return true;
      },
      find: async () => ({ kind: 'closed' }),
      post: async () => expect.fail('it is posted twice'),
      patienceMs: () => 1_000,
      ended: new AbortController().signal,
    };
    expect(await createOnce(JOB, parts, { ensure, dryRun: false })).toMatchObject(expected);
  },
);
