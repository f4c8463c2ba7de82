import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';

/** A line of the state as version 1 of its format wrote it: with a checksum, but without a length. */
export function encodeVersion1(record: object): string {
  const covered = JSON.stringify({ v: 1, ...record }).slice(0, -1);
  return `${covered},"sum":"${hash('sha256', covered, 'hex').slice(0, 16)}"}`;
}

/** A job as version 1 recorded it. It derived the key from the agent_id and the name as typed. */
export function version1Job(origin: string, agent_id: string, name: string) {
  return {
    at: '2026-01-01T00:00:00.000Z',
    key: hash('sha256', JSON.stringify([origin, agent_id, name]), 'hex').slice(0, 24),
    origin,
    agent_id,
    name,
    schedule: { minute: '0', hour: '9', day_of_week: '1-5', timezone: 'UTC' },
    instructions_hash: null,
    content_hash: null,
  };
}

/** Writes a state in which version 1 recorded that it created a job. */
export function writeVersion1Job(path: string, job: ReturnType<typeof version1Job>, cron_job_id: string): void {
  const owner = { owner: { machine: 'm', pid: 1, started: null }, until: null, seen: null };
  const records = [
    { type: 'cron.reserved', id: 'r1', ...job, ...owner },
    { type: 'cron.created', id: 'c1', ...job, reservation: 'r1', cron_job_id },
  ];
  writeFileSync(path, records.map((record) => `${encodeVersion1(record)}\n`).join(''));
}
