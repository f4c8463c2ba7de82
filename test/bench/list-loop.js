import { Pool } from 'undici';

// The least program that lists all spaces: follows `next`, and prints one object per line.
const { origin, pathname } = new URL(process.env.PARTNER_BASE_URL);
const pool = new Pool(origin, { connections: 1 });
const headers = { authorization: `Bearer ${process.env.PARTNER_TOKEN}` };
for (let path = `${pathname}/automation/spaces/`; path; ) {
  const { body } = await pool.request({ path, method: 'GET', headers });
  const { results, next } = await body.json();
  for (const space of results) process.stdout.write(`${JSON.stringify(space)}\n`);
  path = next;
}
await pool.close();
