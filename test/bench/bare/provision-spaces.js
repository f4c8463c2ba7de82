import { readFile } from 'node:fs/promises';
import { forEach, openRecords, postOnce, readDocuments } from './keep-promises.js';

// Provisions new spaces, 16 at a time. Arguments: the manifests, and the file for the records.
const [manifests, records] = process.argv.slice(2);
const append = await openRecords(records);

async function provision(manifest) {
  await append({ reserved: manifest.external_space_id });
  const path = '/automation/agent-templates/provision-space/';
  const space = await postOnce(path, 'application/json', JSON.stringify(manifest));
  await append({ created: space });
  return space;
}

const spaces = await forEach(readDocuments(await readFile(manifests, 'utf8')), 16, provision);
process.stdout.write(JSON.stringify(spaces));
