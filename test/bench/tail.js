import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { makeAgent } from './harness/agent.js';
import { shared } from './harness/measure.js';
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
 * How long after it exists each of so many replies stands on the output of a running tail, in milliseconds.
 * @param flags more flags of the tail; with them, it says on stderr when it is ready
 */
async function replyDelays(source, env, rounds, flags = []) {
  // A tail starts with what exists.
  const session = `delay-${flags.length}`;
  const words = ['chat', 'tail', '--source', source, '--session', session, '-o', 'ndjson', ...flags];
  const tail = spawn(process.execPath, [PROGRAM, ...words], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', flags.length > 0 ? 'pipe' : 'inherit'],
  });
  if (tail.stderr) await once(tail.stderr, 'data');
  const delays = [];
  const lines = createInterface({ input: tail.stdout })[Symbol.asyncIterator]();
  // The first message may come while the tail still starts.
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

const longest = async (delays) => ({ values: [Math.max(...(await delays))] });

export const rows = [
  { name: 'the longest way of a reply to the output of a tail', limit: 1_500, measure: () => longest(polled()) },
  { name: 'the same with --webhook', limit: 100, measure: () => longest(pushed()) },
];
