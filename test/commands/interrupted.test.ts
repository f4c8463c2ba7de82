import { expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { createGate, json, type Step, startFakeService } from '../support/fake-service.ts';
import { fasterClock, manualSignals, partnerctl, type Ran, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';

/* What a command reports when Ctrl-C ends it. */

const JOB = ['--agent', 'agt_1', '--name', 'daily', '--instructions', 'Go.', '--schedule', '0 9 * * *'];

/** Never responds. */
const stall: Step = () => undefined;

/** Runs a command against a service, and presses Ctrl-C when a matching request has arrived. */
async function interruptAt(
  method: string,
  script: Parameters<typeof startFakeService>[0],
  argv: readonly string[],
): Promise<{ readonly ran: Ran; readonly requests: readonly string[] }> {
  const fake = await startFakeService(script);
  const signals = manualSignals();
  const env = { PARTNER_STATE: write('state.jsonl', '') };
  const running = partnerctl(fake.baseUrl, argv, { random: tinyRandom, clock: fasterClock(), signals, env });
  await fake.nextRequest(method);
  signals.ctrlC();
  return { ran: await running, requests: fake.requests.map((request) => request.method) };
}

test('Ctrl-C during cron create sends nothing while the service is read', async () => {
  const { ran, requests } = await interruptAt('GET', { 'GET *': stall }, ['cron', 'create', ...JOB]);
  expect(ran).toMatchObject({ code: 130, stderr: expect.stringContaining('Interrupted.') });
  expect(requests).toEqual(['GET']);
});

test('Ctrl-C during cron create says that the job may exist if it was sent', async () => {
  const { ran } = await interruptAt('POST', { 'GET *': json([]), 'POST *': stall }, ['cron', 'create', ...JOB]);
  expect(ran).toMatchObject({ code: 9, stderr: expect.stringMatching(/may (exist|have been created)/) });
});

test('Ctrl-C during chat send --rows says that the outcome of the row in flight is unknown, and that a repeat is safe.', async () => {
  const rows = write('rows.jsonl', '{"text":"one"}\n{"text":"two"}\n');
  const send = ['chat', 'send', '--rows', rows, '--source', 's', '--session', 'x'];
  const { ran } = await interruptAt('POST', { 'POST *': stall }, [...send, '-o', 'json']);
  expect(ran.code).toBe(130);
  expect(ran.json()).toMatchObject([
    { line: 1, status: 'unknown', error: { type: 'interrupted' } },
    { line: 2, status: 'not_sent' },
  ]);
  expect(ran.error().message).toContain('1 unknown');
  expect(ran.error().hint).toContain('Run the same command again');
});

test('An interrupt stops a read in the middle of its response, and SIGTERM exits with 143', async () => {
  const arrived = createGate();
  const server = await startFakeService((_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('[', arrived.open);
  });
  const signals = manualSignals();
  const running = partnerctl(server.baseUrl, ['spaces', 'list', '-o', 'json'], { signals, clock: systemClock });
  await arrived.pass();
  signals.end(143);
  expect((await running).code).toBe(143);
});
