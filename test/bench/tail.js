import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeAgent } from './harness/agent.js';
import { withChatService } from './harness/bulk-service.js';
import { withDirectory } from './harness/directory.js';
import { growth, quantile, shared, time } from './harness/measure.js';
import { PROGRAM, withSandbox } from './harness/sandbox.js';

/** The flags of a tail that polls only when the sandbox delivers a webhook. */
async function receiveWebhooks({ admin }) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await admin('/webhooks', { url: `http://127.0.0.1:${port}/bench` });
  return ['--interval', '1h', '--webhook', String(port), '--webhook-path', '/bench'];
}

/**
 * The delay of each of that many replies, from its creation to the output of a running tail, in milliseconds.
 * @param flags additional flags of the tail; with them, it reports on stderr when it is ready
 */
async function replyDelays(source, env, rounds, flags = []) {
  // A tail starts with the existing messages.
  const session = `delay-${flags.length}`;
  const args = ['chat', 'tail', '--source', source, '--session', session, '-o', 'ndjson', ...flags];
  const tail = spawn(process.execPath, [PROGRAM, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', flags.length > 0 ? 'pipe' : 'inherit'],
  });
  if (tail.stderr) await once(tail.stderr, 'data');
  const delays = [];
  const lines = createInterface({ input: tail.stdout })[Symbol.asyncIterator]();
  // The first message may arrive while the tail is still starting.
  for (let round = 0; round <= rounds; round += 1) {
    const send = ['chat', 'send', '--source', source, '--session', session, `message ${round}`, '--quiet'];
    const sent = spawn(process.execPath, [PROGRAM, ...send], { env: { ...process.env, ...env }, stdio: 'ignore' });
    for (;;) {
      const { value } = await lines.next();
      const { role, created_at } = JSON.parse(value);
      if (role !== 'assistant') continue;
      if (round > 0) delays.push(Date.now() - Date.parse(created_at));
      break;
    }
    if (sent.exitCode === null) await once(sent, 'exit');
  }
  tail.kill('SIGINT');
  await once(tail, 'exit');
  return delays;
}

const REPLIES = 10;

const polled = shared(() =>
  withSandbox(async ({ env }) => {
    const { source } = await makeAgent(env);
    return await replyDelays(source, env, REPLIES);
  }),
);

const pushed = shared(() =>
  withSandbox(async (sandbox) => {
    const { source } = await makeAgent(sandbox.env);
    return await replyDelays(source, sandbox.env, REPLIES, await receiveWebhooks(sandbox));
  }),
);

const SESSIONS = 100;
const PER_SECOND = 50;
const WARM_UP_MS = 5_000;
const WINDOW_MS = 20_000;

/** The CPU time of a process so far, in milliseconds. */
async function cpuTime(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // The kernel counts in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Follows 100 sessions for a while. @returns the delay of each message on the output (ms), and the share of a core (%) */
const followed = shared(() =>
  withChatService({ sessions: SESSIONS, perSecond: PER_SECOND }, (env) =>
    withDirectory(async (directory) => {
      const pairs = join(directory, 'pairs.txt');
      await writeFile(pairs, Array.from({ length: SESSIONS }, (_, index) => `src_1 session-${index}\n`).join(''));
      const args = [PROGRAM, 'chat', 'tail', '--pairs', pairs, '-o', 'json'];
      const tail = spawn(process.execPath, args, {
        env: { ...process.env, ...env, HOME: directory },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const begin = Date.now() + WARM_UP_MS;
      const delays = [];
      createInterface({ input: tail.stdout }).on('line', (line) => {
        const createdAt = Date.parse(JSON.parse(line).created_at);
        if (createdAt >= begin) delays.push(Date.now() - createdAt);
      });
      await sleep(WARM_UP_MS);
      const before = await cpuTime(tail.pid);
      await sleep(WINDOW_MS);
      const used = (await cpuTime(tail.pid)) - before;
      tail.kill('SIGINT');
      await once(tail, 'exit');
      const expected = (WINDOW_MS / 1000) * PER_SECOND;
      if (delays.length < expected * 0.9) throw new Error(`only ${delays.length} of ${expected} messages came`);
      return { delays, cpu: (used / WINDOW_MS) * 100 };
    }),
  ),
);

const late = async (share) => ({ values: [quantile((await followed()).delays, share)] });
const notLinux = () => (process.platform === 'linux' ? undefined : 'the system does not tell');

/** How the cost of a tail grows with the messages of its session. */
async function growthOfMessages() {
  const sizes = [300, 3_000, 30_000];
  const read = (existing) =>
    withChatService({ sessions: 1, existing }, (env) =>
      withDirectory(async (HOME) => {
        const args = [
          PROGRAM,
          'chat',
          'tail',
          '--source',
          'src_1',
          '--session',
          'session-0',
          '--from-start',
          '--no-follow',
        ];
        return (await time([...args, '-o', 'json'], { ...env, HOME })).ms;
      }),
    );
  return await growth({ sizes, cost: read, fixed: () => read(0) });
}

const longest = async (delays) => ({ values: [Math.max(...(await delays))] });

export const rows = [
  {
    name: 'a tail of 100 sessions, 50 messages a second in all: existence to output, p50',
    unit: 'ms',
    limit: 600,
    measure: () => late(0.5),
  },
  { name: 'the same, p99', unit: 'ms', limit: 2_000, measure: () => late(0.99) },
  {
    name: 'the same, share of a core',
    unit: '%',
    limit: 15,
    skip: notLinux,
    measure: async () => ({ values: [(await followed()).cpu] }),
  },
  { name: 'growth of a tail with the messages of its session', limit: 1.05, measure: growthOfMessages },
  { name: 'the longest delay of a reply on the output of a tail', limit: 1_500, measure: () => longest(polled()) },
  { name: 'the same with --webhook', limit: 100, measure: () => longest(pushed()) },
];
