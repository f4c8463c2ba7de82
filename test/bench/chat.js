import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { median } from './measure.js';
import { PROGRAM } from './sandbox.js';

const PROVISION = '/automation/agent-templates/provision-space/';

/** A space with one agent that echoes. Gives its id and the one of its API chat source. */
export async function makeAgent({ PARTNER_BASE_URL, PARTNER_TOKEN }) {
  const response = await fetch(PARTNER_BASE_URL + PROVISION, {
    method: 'POST',
    headers: { authorization: `Bearer ${PARTNER_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      external_space_id: 'bench-chat',
      space: { name: 'Bench' },
      agents: [{ template_id: 'tmpl_support', name: 'Support', auto_create_api_chat: true }],
    }),
  });
  const { agents } = await response.json();
  return { agent: agents[0].agent_id, source: agents[0].integrations.api_chat.source_id };
}

/** The flags of a tail that polls only when the sandbox delivers a webhook. */
export async function receiveWebhooks({ admin }) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await admin('/webhooks', { url: `http://127.0.0.1:${port}/bench` });
  return ['--interval', '1h', '--webhook', String(port), '--webhook-path', '/bench'];
}

/**
 * How long after it exists a reply stands on the output of a running tail, in milliseconds.
 * @param flags more flags of the tail; with them, it says on stderr when it is ready
 * @returns the median and the longest of so many messages
 */
export async function replyDelay(source, env, rounds, flags = []) {
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
  return { median: median(delays), longest: Math.max(...delays) };
}
