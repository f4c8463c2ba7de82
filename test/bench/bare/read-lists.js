import { Pool } from 'undici';

// Reads the spaces, and the agents of each, 16 at a time.
const base = new URL(process.env.PARTNER_BASE_URL);
const pool = new Pool(base.origin, { connections: 16 });
const headers = { authorization: `Bearer ${process.env.PARTNER_TOKEN}` };

async function read(path) {
  const { body } = await pool.request({ path, method: 'GET', headers });
  return await body.json();
}

const spaces = [];
for (let path = `${base.pathname}/automation/spaces/`; path; ) {
  const { results, next } = await read(path);
  spaces.push(...results);
  path = next;
}
const queue = spaces.values();
async function readAgents() {
  for (const { space_id } of queue) await read(`${base.pathname}/automation/spaces/${space_id}/agents/`);
}
await Promise.all(Array.from({ length: 16 }, readAgents));
await pool.destroy();
