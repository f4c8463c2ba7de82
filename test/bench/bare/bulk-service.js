import { createServer } from 'node:net';

/*
 * A minimal service in a separate process: raw sockets, no HTTP library. Provisions spaces, creates jobs, and lists both.
 * Arguments: the milliseconds before each response. Prints its port.
 */

const delayMs = Number(process.argv[2] ?? 0);
const AGENTS_PATH = /^\/v1\/automation\/spaces\/space_(\d+)\/agents\/$/;
const PAGE = 100;

/** By number: the external id of a space, and the names and templates of its agents. */
let spaces = [];
let numbers = new Map();
let jobs = [];

function agentsOf(number) {
  return spaces[number].agents.map(({ name, template_id }, index) => ({
    agent_id: `agt_${number}_${index}`,
    name,
    template_id,
  }));
}

function provision({ external_space_id, space, agents }) {
  let number = numbers.get(external_space_id);
  if (number === undefined) {
    number = spaces.length;
    numbers.set(external_space_id, number);
    spaces.push({ external_space_id, name: space.name, agents });
  }
  return { space_id: `space_${number}`, external_space_id, agents: agentsOf(number) };
}

function page(path, all, toItem) {
  const from = Number(/[?&]from=(\d+)/.exec(path)?.[1] ?? 0);
  const results = all.slice(from, from + PAGE).map((item, index) => toItem(item, from + index));
  const next = from + PAGE < all.length ? `${path.split('?')[0]}?from=${from + PAGE}` : null;
  return { results, next };
}

function answer(method, path, body) {
  if (method === 'DELETE') {
    spaces = [];
    numbers = new Map();
    jobs = [];
    return {};
  }
  if (method === 'POST' && path.endsWith('/provision-space/')) return provision(JSON.parse(body));
  if (method === 'POST') {
    jobs.push(JSON.parse(body));
    return { cron_job_id: `cron_${jobs.length}` };
  }
  const space = AGENTS_PATH.exec(path);
  if (space) return agentsOf(Number(space[1]));
  if (path.includes('partner-cron-jobs'))
    return page(path, jobs, (job, index) => ({ cron_job_id: `cron_${index + 1}`, ...job }));
  return page(path, spaces, ({ external_space_id, name }, index) => ({
    space_id: `space_${index}`,
    external_space_id,
    name,
  }));
}

function respond(socket, method, path, body) {
  const text = JSON.stringify(answer(method, path, body));
  const status = method === 'POST' ? '201 Created' : '200 OK';
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`;
  const send = () => socket.write(head + text);
  if (delayMs > 0) setTimeout(send, delayMs);
  else send();
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending = '';
  socket.on('error', () => undefined);
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    pending += chunk;
    for (;;) {
      const end = pending.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = pending.slice(0, end);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (pending.length < end + 4 + length) return;
      const [method, path] = head.split(' ', 2);
      const body = pending.slice(end + 4, end + 4 + length);
      pending = pending.slice(end + 4 + length);
      respond(socket, method, path, body);
    }
  });
});
server.listen(0, '127.0.0.1', 511, () => process.stdout.write(`${server.address().port}\n`));
