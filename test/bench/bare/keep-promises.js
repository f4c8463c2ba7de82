import { open } from 'node:fs/promises';
import { Client } from 'undici';
import { LineCounter, parseAllDocuments } from 'yaml';

/*
 * The parts of the least programs of Node that keep what the tool promises when it creates something: YAML is read with the lines
 * of its values, each POST has a connection of its own, and there is a record on the disk before and after it.
 */

export const base = new URL(process.env.PARTNER_BASE_URL);
export const authorization = `Bearer ${process.env.PARTNER_TOKEN}`;

/** The values of a text of several documents. */
export function readDocuments(text) {
  const lineCounter = new LineCounter();
  return parseAllDocuments(text, { lineCounter }).map((document) => document.toJS());
}

/** Opens a file of records. @returns appends one: those that become due together share one write and one fsync */
export async function openRecords(path) {
  const file = await open(path, 'a');
  let waiting = [];
  let isWriting = false;

  async function writeAll() {
    isWriting = true;
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      await file.write(group.map(({ line }) => line).join(''));
      await file.sync();
      for (const { resolve } of group) resolve();
    }
    isWriting = false;
  }

  return (record) =>
    new Promise((resolve) => {
      waiting.push({ line: `${JSON.stringify(record)}\n`, resolve });
      if (!isWriting) void writeAll();
    });
}

/** Sends a POST on a connection of its own. @returns the response, read as JSON */
export async function postOnce(path, type, body) {
  const client = new Client(base.origin);
  const headers = { authorization, 'content-type': type };
  const response = await client.request({ method: 'POST', path: base.pathname + path, headers, body });
  const created = await response.body.json();
  void client.destroy();
  return created;
}

/** Runs a task for each item, a number of them at once. @returns the results, in the order of their ends */
export async function forEach(items, atOnce, run) {
  const results = [];
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) results.push(await run(item));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
