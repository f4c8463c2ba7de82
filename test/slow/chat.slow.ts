import { expect, test } from 'vitest';
import {
  addReplies,
  followUntil,
  injectHistoryFaults,
  joinRuns,
  type Line,
  messageIds,
  parseLines,
  shownIds,
  startConversations,
} from '../support/conversation.ts';
import { start } from '../support/program.ts';
import { service as startService } from '../support/service.ts';

const SESSIONS = 20;
const EACH = 250;

test.each([1, 2, 3])(
  'seed %i: 5,000 replies in 20 sessions on a failing service are shown once and in order',
  async (seed) => {
    const chats = await startConversations(await startService(), SESSIONS);
    await injectHistoryFaults(chats.service, seed);
    const replying = addReplies(chats, EACH, 50);
    const { lines, exitCode } = await followUntil(chats, ['--from-start'], SESSIONS * EACH, 'SIGINT');
    await replying;
    expect(exitCode).toBe(0);
    await chats.service.faults();
    expect(shownIds(chats, lines)).toEqual(await messageIds(chats));
  },
);

test.each([4, 5])('seed %i: a tail that is repeatedly killed and resumed shows them once, too', async (seed) => {
  const chats = await startConversations(await startService(), SESSIONS);
  await injectHistoryFaults(chats.service, seed);
  const replying = addReplies(chats, EACH, 100);
  const runs: Line[][] = [];
  let total = 0;
  for (let round = 0; round < 20 && total < SESSIONS * EACH - 900; round += 1) {
    const { lines } = await followUntil(chats, ['--resume'], (round * 61 * seed) % 400, 'SIGKILL');
    runs.push(lines);
    total += lines.length;
  }
  await replying;
  await chats.service.faults();
  const rest = await start([...chats.tailArgs, '--resume', '--no-follow'], { env: chats.service.env });
  expect(rest.exitCode).toBe(0);
  runs.push(parseLines(rest.stdout));
  expect(shownIds(chats, joinRuns(runs))).toEqual(await messageIds(chats));
});
