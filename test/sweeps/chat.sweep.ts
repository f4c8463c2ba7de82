import { expect, test } from 'vitest';
import { start } from '../e2e/program.ts';
import {
  badHistory,
  conversations,
  followTo,
  joined,
  type Line,
  linesOf,
  reply,
  sendKilledAndRepeated,
  shown,
  truth,
} from '../helpers/conversation.ts';
import { service } from '../helpers/service.ts';

const SESSIONS = 20;
const EACH = 250;

test.each([1, 2, 3])('seed %i: 5,000 replies in 20 sessions in bad weather: each once, in order', async (seed) => {
  const talking = await conversations(await service(), SESSIONS);
  await badHistory(talking.it, seed);
  const replying = reply(talking, EACH, 50);
  const { lines, exitCode } = await followTo(talking, ['--from-start'], SESSIONS * EACH, 'SIGINT');
  await replying;
  expect(exitCode).toBe(0);
  await talking.it.faults();
  expect(shown(talking, lines)).toEqual(await truth(talking));
});

test.each([4, 5])('seed %i: the same, killed with SIGKILL again and again and resumed', async (seed) => {
  const talking = await conversations(await service(), SESSIONS);
  await badHistory(talking.it, seed);
  const replying = reply(talking, EACH, 100);
  const runs: Line[][] = [];
  let total = 0;
  for (let round = 0; round < 20 && total < SESSIONS * EACH - 900; round += 1) {
    const { lines } = await followTo(talking, ['--resume'], (round * 61 * seed) % 400, 'SIGKILL');
    runs.push(lines);
    total += lines.length;
  }
  await replying;
  await talking.it.faults();
  const rest = await start([...talking.words, '--resume', '--no-follow'], { env: talking.it.env });
  expect(rest.exitCode).toBe(0);
  runs.push(linesOf(rest.stdout));
  expect(shown(talking, joined(runs))).toEqual(await truth(talking));
});

test('a send killed at any moment and repeated under its external id: one message', async () => {
  const talking = await conversations(await service(), 1);
  await talking.it.faults(
    { kind: 'delay', ms: 60, on: 'POST /integrations/api-chat/message/', rate: 0.5 },
    { kind: 'delay', ms: 60, on: 'POST /integrations/api-chat/message/', stage: 'after' },
  );
  // Until some were killed before the message was registered and some after, however slow the machine is: what is over
  // the usual rounds waits longer and longer.
  const created = new Set<boolean>();
  for (let round = 0; round < 24 || (created.size < 2 && round < 96); round += 1) {
    const session = `k${round}`;
    const afterMs = (60 + round * 15) * Math.max(1, 1.1 ** (round - 24));
    const sent = await sendKilledAndRepeated(talking, session, { afterMs });
    expect(sent.texts).toEqual([`text of ${session}`]);
    created.add(sent.created);
  }
  expect(created).toEqual(new Set([true, false]));
});
