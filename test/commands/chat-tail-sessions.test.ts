import { describe, expect, test } from 'vitest';
import { createChat, HISTORY } from '../support/chat.ts';
import { fastClock, run, tinyRandom } from '../support/run.ts';
import { service as startService } from '../support/service.ts';

/** A source with the conversations `anna` and `ben`. */
async function twoSessions() {
  const service = await startService();
  const { source_id } = await createChat(service);
  const say = async (session_id: string, text: string): Promise<void> => {
    const body = { source_id, session_id, role: 'assistant', text };
    expect((await service.admin('POST', '/messages', body)).status).toBe(201);
  };
  await say('anna', 'for anna');
  await say('ben', 'for ben');
  const tail = (...args: string[]) =>
    run(['chat', 'tail', '--source', source_id, ...args], {
      env: service.env,
      clock: fastClock(),
      random: tinyRandom,
    });
  return { service, say, tail };
}

function linesOf(stdout: string): string[] {
  const lines = stdout.split('\n').filter(Boolean);
  return lines
    .map((line) => JSON.parse(line))
    .map(({ session_id, text }) => `${session_id} ${text}`)
    .sort();
}

const BOTH = ['--session', 'anna', '--session', 'ben'];

describe('a tail of several sessions', () => {
  test('shows the messages of each, names the session, and remembers its position in each', async () => {
    const { tail, say } = await twoSessions();
    const table = await tail(...BOTH, '--session', 'anna', '--no-follow', '-o', 'table');
    expect(table.stdout.split('\n').toSorted()).toEqual(['', '[anna] assistant: for anna', '[ben] assistant: for ben']);
    await say('ben', 'more for ben');
    const resumed = await tail(...BOTH, '--no-follow', '-o', 'json', '--resume');
    expect(linesOf(resumed.stdout)).toEqual(['ben more for ben']);
    expect((await tail('--session', 'anna', '--no-follow', '--resume', '-o', 'json')).stdout).toBe('');
  });

  test('ends with the error of one, also while it follows the others', async () => {
    const { service, tail } = await twoSessions();
    await service.faults({ kind: 'status', status: 403, on: `GET ${HISTORY}`, skip: 4 });
    expect((await tail(...BOTH)).code).toBe(3);
  });
});
