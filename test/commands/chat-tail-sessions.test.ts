import { describe, expect, test } from 'vitest';
import { createChat } from '../support/chat.ts';
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
  const { env } = service;
  const tail = (...args: string[]) =>
    run(['chat', 'tail', '--no-follow', '--source', source_id, ...args], {
      env,
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
  test('shows the messages of each, and names the session', async () => {
    const { tail } = await twoSessions();
    const ran = await tail(...BOTH, '-o', 'json');
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(linesOf(ran.stdout)).toEqual(['anna for anna', 'ben for ben']);
    const { stdout } = await tail(...BOTH, '--session', 'anna', '-o', 'table');
    expect(stdout.split('\n').toSorted()).toEqual(['', '[anna] assistant: for anna', '[ben] assistant: for ben']);
  });

  test('remembers its position in each', async () => {
    const { tail, say } = await twoSessions();
    await tail(...BOTH, '-o', 'json');
    await say('ben', 'more for ben');
    expect(linesOf((await tail(...BOTH, '-o', 'json', '--resume')).stdout)).toEqual(['ben more for ben']);
    expect((await tail('--session', 'anna', '--resume', '-o', 'json')).stdout).toBe('');
  });

  test('reads each of 60 sessions once', async () => {
    const { service, tail } = await twoSessions();
    await service.forget();
    const ids = Array.from({ length: 60 }, (_, index) => `s${index}`);
    const ran = await tail(...BOTH, ...ids.flatMap((id) => ['--session', id]), '-o', 'json');
    expect(ran.code).toBe(0);
    expect(linesOf(ran.stdout)).toHaveLength(2);
    // Two requests for a session with messages, because a page may be incomplete.
    expect((await service.received()).length).toBeLessThanOrEqual(64);
  });
});
