import { open, readFile } from 'node:fs/promises';
import { Client } from 'undici';
import { LineCounter, parseAllDocuments } from 'yaml';

/*
 * The least program that keeps what `provision` promises for new spaces: reads the YAML with the lines of its values, sends
 * each POST on a connection of its own, and has a record on the disk before and after it. Records that become due together
 * share one write and one fsync. Arguments: the manifests, and the file for the records.
 */

const CONCURRENCY = 16;
const [manifests, records] = process.argv.slice(2);
const base = new URL(process.env.PARTNER_BASE_URL);
const path = `${base.pathname}/automation/agent-templates/provision-space/`;
const headers = { authorization: `Bearer ${process.env.PARTNER_TOKEN}`, 'content-type': 'application/json' };

const log = await open(records, 'a');
let waiting = [];
let isWriting = false;

async function writeAll() {
  isWriting = true;
  while (waiting.length > 0) {
    const group = waiting;
    waiting = [];
    await log.write(group.map(({ line }) => line).join(''));
    await log.sync();
    for (const { resolve } of group) resolve();
  }
  isWriting = false;
}

function append(record) {
  return new Promise((resolve) => {
    waiting.push({ line: `${JSON.stringify(record)}\n`, resolve });
    if (!isWriting) void writeAll();
  });
}

async function post(manifest) {
  const client = new Client(base.origin);
  const response = await client.request({ method: 'POST', path, headers, body: JSON.stringify(manifest) });
  const space = await response.body.json();
  void client.destroy();
  return space;
}

const lineCounter = new LineCounter();
const documents = parseAllDocuments(await readFile(manifests, 'utf8'), { lineCounter }).map((each) => each.toJS());
const results = [];
const queue = documents.values();

async function provision() {
  for (const manifest of queue) {
    await append({ reserved: manifest.external_space_id });
    const space = await post(manifest);
    await append({ created: space });
    results.push(space);
  }
}

await Promise.all(Array.from({ length: CONCURRENCY }, provision));
process.stdout.write(JSON.stringify(results));
