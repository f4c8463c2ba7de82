import { createServer } from 'node:http';

/*
 * A service with sessions, in a separate process. Arguments: the number of sessions, and the number of messages per second in
 * total, or of those that each session has from the start. Prints its port.
 */

const [sessions, perSecond, existing] = process.argv.slice(2).map(Number);
const PAGE = 100;

const histories = new Map();
let count = 0;

function add(session, createdAt) {
  count += 1;
  const message = { message_id: `msg_${String(count).padStart(8, '0')}`, session_id: session, role: 'user' };
  histories.get(session).push({ ...message, text: `message ${count} of the bench`, created_at: createdAt });
}

for (let index = 0; index < sessions; index += 1) {
  histories.set(`session-${index}`, []);
  for (let each = 0; each < existing; each += 1) add(`session-${index}`, new Date().toISOString());
}

// Each session in turn, evenly. On a busy machine, a timer is late, and several messages are due at once.
let next = 0;
const started = performance.now();
function addDue() {
  for (; next < ((performance.now() - started) / 1_000) * perSecond; next += 1)
    add(`session-${next % sessions}`, new Date().toISOString());
}
if (perSecond > 0) setInterval(addDue, 1_000 / perSecond);

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const query = new URL(request.url, 'http://localhost').searchParams;
  const all = histories.get(query.get('session_id')) ?? [];
  const after = query.get('after_message_id');
  // Ids rise.
  const from = after === null ? 0 : lastBelow(all, after);
  const results = all.slice(from, from + PAGE);
  const more = from + PAGE < all.length;
  const path = `${request.url.split('?')[0]}?source_id=${query.get('source_id')}&session_id=${query.get('session_id')}`;
  const text = JSON.stringify({ results, next: more ? `${path}&after_message_id=${results.at(-1).message_id}` : null });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
});

/** The index of the first message after an id. */
function lastBelow(all, id) {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (all[middle].message_id <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

server.listen(0, '127.0.0.1', 511, () => process.stdout.write(`${server.address().port}\n`));
