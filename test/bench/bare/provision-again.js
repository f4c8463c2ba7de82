import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { Pool } from 'undici';
import { authorization, base, forEach, readDocuments } from './keep-promises.js';

// Compares manifests with the spaces and their agents, 16 at a time. Arguments: the manifests, and the file of the records.
const [manifests, records] = process.argv.slice(2);
const pool = new Pool(base.origin, { connections: 16 });

async function read(path) {
  const { body } = await pool.request({ path, method: 'GET', headers: { authorization } });
  return await body.json();
}

const spaces = new Map();
for (let path = `${base.pathname}/automation/spaces/`; path; ) {
  const { results, next } = await read(path);
  for (const space of results) spaces.set(space.external_space_id, space);
  path = next;
}

const known = new Map();
for (const line of (await readFile(records, 'utf8')).trim().split('\n')) {
  const { created } = JSON.parse(line);
  if (created) known.set(created.external_space_id, created);
}

async function compare({ external_space_id, agents }) {
  const space = spaces.get(external_space_id);
  if (space.space_id !== known.get(external_space_id).space_id) throw new Error(`Another space: ${external_space_id}`);
  const existing = await read(`${base.pathname}/automation/spaces/${space.space_id}/agents/`);
  const installed = existing.map(({ template_id, name }) => ({ template_id, name }));
  if (!isDeepStrictEqual(installed, agents)) throw new Error(`Other agents: ${external_space_id}`);
  return space;
}

const compared = await forEach(readDocuments(await readFile(manifests, 'utf8')), 16, compare);
await pool.destroy();
process.stdout.write(JSON.stringify(compared));
