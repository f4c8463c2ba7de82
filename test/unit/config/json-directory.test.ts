import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { JsonDirectory } from '../../../src/config/json-directory.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import { tempDirectory } from '../../support/run.ts';

const OLD = { a: { n: 1 }, b: { n: 2 } };

/** A directory with an old file. @param onRead called when a command has read that file, before it writes anything */
function open(onRead: (path: string, old: string) => void = () => undefined) {
  const parent = tempDirectory();
  const [path, old] = [join(parent, 'entries'), join(parent, 'old.json')];
  writeFileSync(old, JSON.stringify(OLD));
  const split = (content: JsonObject) => {
    onRead(path, old);
    return new Map(Object.entries(content).map(([name, value]) => [name, { value }]));
  };
  return { parent, path, directory: new JsonDirectory(path, { path: old, split }) };
}

it('what another command took over, and changed, while this one did is neither replaced nor brought back', async () => {
  // The other one has removed `a`, and changed `b`.
  const { parent, directory } = open((path, old) => {
    mkdirSync(path);
    writeFileSync(join(path, 'b.json'), '{"value":{"n":7}}');
    rmSync(old);
  });
  await directory.change('c', () => ({ value: { n: 3 } }));
  expect(directory.names().toSorted()).toEqual(['b', 'c']);
  expect(directory.read('b')).toEqual({ value: { n: 7 } });
  expect(readdirSync(parent)).toEqual(['entries']);
});

it('a change that fails leaves each entry as it was', async () => {
  const { parent, path, directory } = open();
  const failure = new Error('no');
  const change = directory.change('b', () => {
    throw failure;
  });
  await expect(change).rejects.toBe(failure);
  expect([...directory.names()].toSorted()).toEqual(['a', 'b']);
  expect(directory.read('b')).toEqual({ value: { n: 2 } });
  expect([readdirSync(parent), readdirSync(path).toSorted()]).toEqual([['entries'], ['a.json', 'b.json']]);
});
