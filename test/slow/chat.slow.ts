import { expect, test } from 'vitest';
import { addReplies, expectAllShown, HISTORY, parseLines, startConversations } from '../support/chat.ts';
import { start } from '../support/program.ts';
import { type Service, service as startService } from '../support/service.ts';

const SESSIONS = 20;
const EACH = 250;

/** Makes about a third of the polls fail, or miss the newest messages. */
async function injectHistoryFaults(service: Service, seed: number): Promise<void> {
  const rules = [
    { kind: 'reset', rate: 0.03 },
    { kind: 'reset', stage: 'after', rate: 0.03 },
    { kind: 'cut', rate: 0.03 },
    { kind: 'status', status: 503, rate: 0.03 },
    { kind: 'html', rate: 0.02 },
    { kind: 'status', status: 429, retry_after: 0.05, rate: 0.02 },
    { kind: 'stall', rate: 1, times: 1, skip: 20 },
    { kind: 'stale', rate: 0.2, ms: 100 },
  ].map((rule) => ({ ...rule, on: `GET ${HISTORY}` }));
  expect((await service.admin('PUT', '/faults', { rules, seed })).status).toBe(200);
}

test.each([1, 2, 3])(
  'seed %i: 5,000 replies in 20 sessions on a failing service are shown once and in order',
  async (seed) => {
    const chats = await startConversations(await startService(), SESSIONS);
    await injectHistoryFaults(chats.service, seed);
    const replying = addReplies(chats, EACH, 50);
    const child = start([...chats.tailArgs, '--from-start'], { env: chats.service.env });
    let seen = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 0x0a) seen += 1;
      if (seen >= SESSIONS * EACH) child.kill('SIGINT');
    });
    const { stdout, exitCode } = await child;
    await replying;
    expect(exitCode).toBe(0);
    await chats.service.faults();
    await expectAllShown(chats, parseLines(stdout));
  },
);
