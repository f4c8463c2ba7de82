import { describe, expect, test } from 'vitest';
import { createSignals } from '../../src/cli/signals.ts';
import { InterruptedError } from '../../src/errors.ts';
import { json, type Step, startFakeService } from '../support/fake-service.ts';
import {
  fasterClock,
  manualSignals,
  type Ran,
  type RunOptions,
  run,
  tempDirectory,
  tinyRandom,
} from '../support/run.ts';
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
  more: RunOptions = {},
): Promise<{ readonly ran: Ran; readonly requests: readonly string[] }> {
  const fake = await startFakeService(script);
  const signals = manualSignals();
  const env = {
    PARTNER_BASE_URL: fake.baseUrl,
    PARTNER_TOKEN: 'pt_1234567890',
    PARTNER_STATE: write('state.jsonl', ''),
  };
  const running = run(argv, {
    random: tinyRandom,
    clock: fasterClock(),
    signals,
    ...more,
    env: { ...env, ...more.env },
  });
  await fake.nextRequest((request) => request.method === method);
  signals.abort(new InterruptedError('Interrupted.'));
  return { ran: await running, requests: fake.requests.map((request) => request.method) };
}

describe('Ctrl-C during cron create', () => {
  test('says that nothing was sent if the job was not sent yet', async () => {
    const { ran, requests } = await interruptAt('GET', { 'GET *': stall, 'POST *': json({}, 500) }, [
      'cron',
      'create',
      ...JOB,
    ]);
    expect(ran.code).toBe(130);
    expect(requests).toEqual(['GET']);
    expect(ran.stderr).toContain('Interrupted. No job was sent.');
  });

  test('says that nothing was sent while agents are looked up by name, too', async () => {
    const byName = ['--agent', 'name:Support', '--space', 'ext:acme', ...JOB.slice(2)];
    const { ran } = await interruptAt('GET', { 'GET *': stall }, ['cron', 'create', ...byName]);
    expect(ran.stderr).toContain('Interrupted. No job was sent.');
  });

  test('says that the job may exist if it was sent', async () => {
    const { ran } = await interruptAt('POST', { 'GET *': json([]), 'POST *': stall }, ['cron', 'create', ...JOB]);
    expect(ran.code).toBe(9);
    expect(ran.stderr).toMatch(/may (exist|have been created)/);
    expect(ran.stderr).not.toContain('No job');
  });
});

describe('Ctrl-C during chat send --rows', () => {
  test('says that the row in flight may have been sent, and that a repeat is safe', async () => {
    const rows = write('rows.jsonl', '{"text":"one"}\n{"text":"two"}\n');
    const send = ['chat', 'send', '--rows', rows, '--source', 's', '--session', 'x'];
    const { ran } = await interruptAt('POST', { 'POST *': stall }, [...send, '-o', 'json']);
    expect(ran.code).toBe(130);
    expect(ran.json()).toMatchObject([
      { line: 1, status: 'unknown', error: { message: expect.stringContaining('may have been sent') } },
      { line: 2, status: 'not_sent' },
    ]);
    expect(ran.error().message).toContain('1 unknown');
    expect(ran.error().hint).toContain('Run the same command again');
  });
});

test('a second Ctrl-C during an upload names the files that may exist', async () => {
  const listeners = new Map<string, () => void>();
  const written: string[] = [];
  const exit = (code: number): never => {
    throw new Error(`exit ${code}`);
  };
  const signals = createSignals({
    on: (signal, listener) => listeners.set(signal, listener),
    exit,
    write: (text) => written.push(text),
  });
  const fake = await startFakeService({ 'POST *': stall });
  const env = {
    PARTNER_BASE_URL: fake.baseUrl,
    PARTNER_TOKEN: 'pt_1234567890',
    PARTNER_STATE: write('state.jsonl', ''),
  };
  const path = write('report.pdf', 'x');
  const running = run(['upload', path], { random: tinyRandom, clock: fasterClock(), signals, env });
  await fake.nextRequest();
  listeners.get('SIGINT')?.();
  expect(() => listeners.get('SIGINT')?.()).toThrow('exit 130');
  expect(written).toEqual([
    expect.stringMatching(/may or may not be uploaded: .*report\.pdf\. Run the same command again/),
  ]);
  await running;
});

test.each(['tail', 'watch'])('chat %s --no-follow --retries 1 gives up after one retry', async (name) => {
  const fake = await startFakeService({
    'GET *': json({ message: 'down' }, 503),
    'POST *': json({ message_id: 'm1' }, 201),
  });
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'pt_1234567890', HOME: tempDirectory() };
  const options = { random: tinyRandom, clock: fasterClock(), env };
  const session = ['--source', 's', '--session', 'x'];
  // Watching shows the sessions that messages were sent to.
  expect((await run(['chat', 'send', 'hi', ...session], options)).code).toBe(0);
  const of = name === 'tail' ? session : [];
  const ran = await run(['chat', name, ...of, '--no-follow', '--retries', '1'], options);
  expect(ran).toMatchObject({ code: 8, stderr: expect.stringContaining('503') });
  expect(fake.requests.filter(({ path }) => path.includes('/history/'))).toHaveLength(2);
});
