import { expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { CRON_JOBS, schedules } from '../support/cron.ts';
import { fastClock, fasterClock, run, tinyRandom } from '../support/run.ts';
import { Screen } from '../support/sinks.ts';

/** Runs a command line in a terminal, faster than it would. @returns what stderr shows, and the different times left */
async function watch(args: readonly string[], env: Record<string, string | undefined>, times: number) {
  const terminal = new Screen();
  const ran = await run(args, { env, terminal, columns: 80, clock: fasterClock(times), random: tinyRandom });
  const left = new Set([...terminal.output.matchAll(/Waiting\b[^(]*\((\d+ s) left/g)].map(([, time]) => time));
  return { code: ran.code, stderr: ran.stderr, left: left.size };
}

test('A terminal shows a countdown while a reply is awaited, and while a job may still be listed', async () => {
  const service = await schedules();
  await service.admin('PUT', '/script', { rules: [{ pattern: '.', replies: [] }] });
  const { source_id } = await createChat(service);
  const send = ['chat', 'send', '--source', source_id, '--session', 's1', 'Hello', '--wait', '--timeout', '40s'];
  const waited = await watch(send, service.env, 10);
  expect(waited).toMatchObject({ code: 11, stderr: expect.not.stringContaining('left') });
  expect(waited.left).toBeGreaterThan(3);
  await service.faults({ kind: 'reset', stage: 'before', on: `POST ${CRON_JOBS}`, times: 1 });
  expect((await service.create([])).code).toBe(9);
  const reconcile = ['cron', 'reconcile', '--assume-not-created', '--state', service.state];
  const reconciled = await watch(reconcile, service.env, 30);
  expect(reconciled.code).toBe(0);
  expect(reconciled.left).toBeGreaterThan(3);
});

test('Without a countdown, a pause of ten seconds or more is told once, and not with --quiet', async () => {
  const service = await schedules();
  const { source_id } = await createChat(service);
  const send = async (retry_after: number, ...more: string[]) => {
    await service.faults({ kind: 'status', status: 429, retry_after, times: 1 });
    const args = ['chat', 'send', '--source', source_id, '--session', 's1', 'Hello', ...more];
    const { code, stderr } = await run(args, { env: service.env, clock: fastClock(), random: tinyRandom });
    expect(code, stderr).toBe(0);
    return stderr;
  };
  expect(await send(40)).toBe('note: waiting 40 s after 429\n');
  expect(await send(9)).toBe('');
  expect(await send(40, '--quiet')).toBe('');
  expect(await send(40, '--verbose')).not.toContain('note:');
});
