import { describe, expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
import { CRON_JOBS, schedules } from '../support/cron.ts';
import { fasterClock, run, tinyRandom } from '../support/run.ts';
import { Screen } from '../support/screen.ts';
import { service as startService } from '../support/service.ts';

/** Runs a command line in a terminal, ten times as fast. @returns the exit code and the terminal output */
async function watch(args: readonly string[], env: Record<string, string | undefined>) {
  const terminal = new Screen();
  const { code, stderr } = await run(args, { env, terminal, columns: 80, clock: fasterClock(), random: tinyRandom });
  return { code, stderr, shown: terminal.output };
}

/** The durations that were shown with a text: `12 s`. */
function timesIn(shown: string, pattern: RegExp): string[] {
  return [...new Set([...shown.matchAll(pattern)].map(([, left]) => left ?? ''))];
}

describe('a terminal shows a countdown', () => {
  test.each(['wait', 'send'])('while chat %s waits for a reply', async (command) => {
    const service = await startService();
    await service.admin('PUT', '/script', { rules: [{ pattern: '.', replies: [] }] });
    const { source_id } = await createChat(service);
    const args = ['chat', command, '--source', source_id, '--session', 's1'];
    const sent = await run(['chat', 'send', ...args.slice(2), 'Hello', '-o', 'json'], { env: service.env });
    const { message_id } = sent.json<{ message_id: string }>();
    const what = command === 'wait' ? ['--after', message_id] : ['--wait', 'Hello'];
    const ran = await watch([...args, ...what, '--timeout', '9s'], service.env);
    expect(ran.code).toBe(11);
    expect(timesIn(ran.shown, /Waiting for the reply \((\d+ s) left/g).length).toBeGreaterThan(3);
    expect(ran.stderr).not.toContain('left');
  });

  test('while cron reconcile waits for a job that may be listed late', async () => {
    const service = await schedules();
    await service.faults({ kind: 'reset', stage: 'before', on: `POST ${CRON_JOBS}`, times: 1 });
    expect((await service.create([])).code).toBe(9);
    const ran = await watch(['cron', 'reconcile', '--assume-not-created', '--state', service.state], service.env);
    expect(ran.code).toBe(0);
    const times = timesIn(ran.shown, /Waiting, because a job may still be created or listed \((\d+ s) left/g);
    expect(times.length).toBeGreaterThan(3);
  });
});
