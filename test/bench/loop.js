import { Pool } from 'undici';

/* The least program that reads all spaces: `list` prints one object per line, `agents` reads those of each space, 16 at a time. */

const [, , what] = process.argv;
const { origin, pathname } = new URL(process.env.PARTNER_BASE_URL);
const SPACES = `${pathname}/automation/spaces/`;
const connections = what === 'list' ? 1 : 16;
const pool = new Pool(origin, { connections });
const headers = { authorization: `Bearer ${process.env.PARTNER_TOKEN}` };

async function get(path) {
  const { body } = await pool.request({ path, method: 'GET', headers });
  return body.json();
}

const spaces = [];
for (let path = SPACES; path; ) {
  const { results, next } = await get(path);
  if (what === 'agents') spaces.push(...results);
  else for (const space of results) process.stdout.write(`${JSON.stringify(space)}\n`);
  path = next;
}

async function readAgents() {
  for (let space = spaces.pop(); space; space = spaces.pop()) await get(`${SPACES}${space.space_id}/agents/`);
}
await Promise.all(Array.from({ length: connections }, readAgents));
await pool.close();
