import { Pool } from 'undici';

// The least program that reads all spaces and their agents, 16 at a time.
const { origin, pathname } = new URL(process.env.PARTNER_BASE_URL);
const pool = new Pool(origin, { connections: 16 });
const headers = { authorization: `Bearer ${process.env.PARTNER_TOKEN}` };
const spaces = [];

async function get(path) {
  const { body } = await pool.request({ path, method: 'GET', headers });
  return body.json();
}

async function readAgents() {
  for (let space = spaces.pop(); space; space = spaces.pop())
    await get(`${pathname}/automation/spaces/${space.space_id}/agents/`);
}

for (let path = `${pathname}/automation/spaces/`; path; ) {
  const { results, next } = await get(path);
  spaces.push(...results);
  path = next;
}
await Promise.all(Array.from({ length: 16 }, readAgents));
await pool.close();
