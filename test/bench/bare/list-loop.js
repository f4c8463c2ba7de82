import { Pool } from 'undici';

// The minimal program for a paginated list: follows `next`, and prints one object per line.
const base = process.env.PARTNER_BASE_URL;
const pool = new Pool(new URL(base).origin, { connections: 1 });
const headers = { authorization: `Bearer ${process.env.PARTNER_TOKEN}` };
let next = `${base}/automation/spaces/`;
while (next) {
  const url = new URL(next);
  const { body } = await pool.request({ path: url.pathname + url.search, method: 'GET', headers });
  const page = await body.json();
  for (const space of page.results) process.stdout.write(`${JSON.stringify(space)}\n`);
  next = page.next;
}
await pool.close();
