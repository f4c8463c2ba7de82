import { expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { createChat } from '../support/chat.ts';
import { CRON_JOBS, schedules } from '../support/cron.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fastClock, fasterClock, partnerctl, run, tinyRandom } from '../support/run.ts';
import { manifest } from '../support/service.ts';
import { Screen } from '../support/sinks.ts';

/** Runs a command line in a terminal. @returns what stderr shows, and how many different times left */
async function watch(args: readonly string[], env: Record<string, string | undefined>) {
  const terminal = new Screen();
  let writes = 0;
  terminal.on('data', () => {
    writes += 1;
  });
  // What is shown makes the time pass, so that a busy machine shows as much.
  const now = () => Date.now() + 500 * writes;
  const sleep = async (ms: number, signal?: AbortSignal) => {
    const end = now() + ms;
    while (now() < end) await systemClock.sleep(Math.min(50, end - now()), signal);
  };
  const clock = { ...systemClock, now, monotonic: now, sleep };
  const ran = await run(args, { env, terminal, columns: 80, clock, random: tinyRandom });
  const left = new Set([...terminal.output.matchAll(/Waiting\b[^(]*\((\d+ s) left/g)].map(([, time]) => time));
  return { code: ran.code, stderr: ran.stderr, left: left.size };
}

test('A terminal shows a countdown while a reply is awaited, and while a job may still be listed', async () => {
  const service = await schedules();
  await service.admin('PUT', '/script', { rules: [{ pattern: '.', replies: [] }] });
  const { source_id } = await createChat(service);
  const send = ['chat', 'send', '--source', source_id, '--session', 's1', 'Hello', '--wait', '--timeout', '40s'];
  const waited = await watch(send, service.env);
  expect(waited).toMatchObject({ code: 11, stderr: expect.not.stringContaining('left') });
  expect(waited.left).toBeGreaterThan(3);
  await service.faults({ kind: 'reset', stage: 'before', on: `POST ${CRON_JOBS}`, times: 1 });
  expect((await service.create([])).code).toBe(9);
  const reconcile = ['cron', 'reconcile', '--assume-not-created', '--state', service.state];
  const reconciled = await watch(reconcile, service.env);
  expect(reconciled.code).toBe(0);
  expect(reconciled.left).toBeGreaterThan(3);
});

test('A terminal counts the spaces whose agents are there, and then the jobs of all', async () => {
  const terminal = new Screen();
  const service = await startFakeService({
    'GET *': json([]),
    'POST /automation/agent-templates/provision-space/': async (_, response, count) => {
      if (count === 2) await terminal.until('Applying: 1 of 2');
      sendJson(response, { space_id: `s${count}`, agents: [{ agent_id: `a${count}`, name: 'Support' }] }, 201);
    },
    [`POST ${CRON_JOBS}`]: async (_, response, count) => {
      await terminal.until(count < 3 ? 'Creating jobs: 0 of 3' : 'Creating jobs: 2 of 3');
      sendJson(response, { cron_job_id: `c${count}` }, 201);
    },
  });
  const jobs = (...names: string[]) =>
    names.map((name) => `{ name: ${name}, instructions: ${name}, schedule: '@daily' }`);
  const scheduled = (id: string, ...names: string[]) =>
    manifest(id).replace('"Support" }', `"Support", cron: [${jobs(...names)}] }`);
  const stdin = `${scheduled('one', 'a', 'b')}---\n${scheduled('two', 'c')}`;
  const options = { stdin, terminal, columns: 80, clock: fasterClock(1) };
  const ran = await partnerctl(service.baseUrl, ['provision', '-'], options);
  expect(ran.code, ran.stderr).toBe(0);
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
