import { createServer } from 'node:net';

/*
 * A service in a process of its own, on raw sockets: it must not cost more than the commands that it serves. It keeps spaces, jobs,
 * and messages, and discards files. Prints its port.
 */

/** `perSecond` messages are added evenly to all sessions, which begin with `messages` each, after `silentMs`. */
const {
  delayMs = 0,
  jobs = [],
  sessions = 0,
  messages = 0,
  perSecond = 0,
  silentMs = 0,
  ...rest
} = JSON.parse(process.argv[2]);
const PAGE = 100;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

const spaces = Array.from({ length: rest.spaces ?? 0 }, (_, number) => newSpace(number, `customer-${number}`));
const histories = new Map(Array.from({ length: sessions }, (_, number) => [`session-${number}`, []]));
let uploads = 0;
let ids = 0;

function newSpace(number, external_space_id) {
  return {
    space_id: `spc_${String(number).padStart(20, '0')}`,
    external_space_id,
    name: `Customer ${number}`,
    description: 'Orders, invoices, and questions',
    is_org_wide: false,
    created_at: '2026-11-02T06:23:28.361Z',
  };
}

function provision({ external_space_id, agents }) {
  const space = newSpace(spaces.length, external_space_id);
  spaces.push(space);
  const withId = (agent, index) => ({ agent_id: `agt_${spaces.length}_${index}`, ...agent });
  return { ...space, agents: agents.map(withId) };
}

function createJob(job) {
  jobs.push({ cron_job_id: `cron_${jobs.length}`, created_at: '2026-11-02T06:23:28.361Z', ...job });
  return jobs.at(-1);
}

function addMessage(session) {
  ids += 1;
  const message = { message_id: `msg_${String(ids).padStart(8, '0')}`, session_id: session, role: 'user' };
  histories.get(session).push({ ...message, text: `message ${ids}`, created_at: new Date().toISOString() });
}

function page(url, all, from, next) {
  const results = all.slice(from, from + PAGE);
  if (from + PAGE >= all.length) return { count: all.length, next: null, results };
  for (const [name, value] of Object.entries(next(results.at(-1)))) url.searchParams.set(name, value);
  return { count: all.length, next: url.pathname + url.search, results };
}

function list(url, all) {
  const from = Number(url.searchParams.get('offset') ?? 0);
  return page(url, all, from, () => ({ offset: from + PAGE }));
}

function history(url) {
  const all = histories.get(url.searchParams.get('session_id')) ?? [];
  const after = url.searchParams.get('after_message_id');
  // Most polls ask for what follows a message near the end.
  const from = after === null ? 0 : all.findLastIndex(({ message_id }) => message_id <= after) + 1;
  return page(url, all, from, ({ message_id }) => ({ after_message_id: message_id }));
}

function respond(method, path, body) {
  const url = new URL(path, 'http://service');
  const { pathname } = url;
  if (pathname.endsWith('/provision-space/')) return provision(JSON.parse(body));
  if (pathname.endsWith('/partner-cron-jobs/'))
    return method === 'POST' ? createJob(JSON.parse(body)) : list(url, jobs);
  if (method === 'POST') {
    uploads += 1;
    return { file_attachment_id: `file_${uploads}` };
  }
  if (pathname.endsWith('/spaces/')) return list(url, spaces);
  const [, id] = /\/spaces\/(\w+)\/agents\/$/.exec(pathname) ?? [];
  if (id) return rest.agents ? [{ agent_id: `agt_${id}`, name: 'Support', template_id: 'tpl_support' }] : [];
  return history(url);
}

/** Reads the requests of a connection. Bodies of files are not kept. */
function serve(socket) {
  let [head, left, body] = ['', -1, []];

  function end() {
    const [method, path] = head.split(' ', 2);
    const text = JSON.stringify(respond(method, path, Buffer.concat(body).toString()));
    const status = method === 'POST' ? '201 Created' : '200 OK';
    const headers = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}`;
    const send = () => socket.write(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${text}`);
    if (delayMs > 0) setTimeout(send, delayMs);
    else send();
    [head, left, body] = ['', -1, []];
  }

  /** @returns how many bytes belonged to the head */
  function readHead(chunk, at) {
    const before = head.length;
    head += chunk.toString('latin1', at);
    const length = head.indexOf('\r\n\r\n') + 4;
    if (length < 4) return chunk.length - at;
    head = head.slice(0, length);
    left = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (/\r\nexpect: 100-continue/i.test(head)) socket.write(CONTINUE);
    return length - before;
  }

  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (left === -1) at += readHead(chunk, at);
      else {
        const part = chunk.subarray(at, at + left);
        if (!/\r\ncontent-type: multipart/i.test(head)) body.push(part);
        left -= part.length;
        at += part.length;
      }
      if (left === 0) end();
    }
  });
}

for (const session of histories.keys()) for (let count = 0; count < messages; count += 1) addMessage(session);

// On a busy machine, a timer is late, and several messages are due at once.
if (perSecond > 0) {
  const started = performance.now() + silentMs;
  let added = 0;
  setInterval(() => {
    for (; added < ((performance.now() - started) / 1_000) * perSecond; added += 1)
      addMessage(`session-${added % sessions}`);
  }, 1_000 / perSecond);
}

const server = createServer({ noDelay: true }, serve);
server.listen(0, '127.0.0.1', 511, () => process.stdout.write(`${server.address().port}\n`));
