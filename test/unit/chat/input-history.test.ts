import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openInputHistory } from '../../../src/chat/input-history.ts';
import { tempDirectory } from '../../support/run.ts';

const noTrouble = (error: unknown): void => {
  throw error;
};

const noSecrets = (): boolean => false;

it('does not save an entry with a secret, and drops one that an earlier version saved', async () => {
  const path = join(tempDirectory(), 'history.json');
  writeFileSync(path, '{"entries": ["my token is pat_secret", "hello"]}');
  const history = await openInputHistory(path, (entry) => entry.includes('pat_secret'), noTrouble);
  history.save(['again: pat_secret', 'hi', ...history.entries]);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ entries: ['hi', 'hello'] });
});

it('saves the latest entries, readable only by their owner', async () => {
  const path = join(tempDirectory(), 'deep', 'history.json');
  const history = await openInputHistory(path, noSecrets, noTrouble);
  expect(history.entries).toEqual([]);
  for (let count = 1; count <= 20; count += 1) history.save([`entry ${count}`, 'older']);
  expect((await openInputHistory(path, noSecrets, noTrouble)).entries).toEqual(['entry 20', 'older']);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it.each(['{"not": "a list"}', '["of an earlier version"]', '{"entries": [1]}', 'no JSON'])(
  'starts empty if the file contains %s',
  async (text) => {
    const path = join(tempDirectory(), 'history.json');
    writeFileSync(path, text);
    expect((await openInputHistory(path, noSecrets, noTrouble)).entries).toEqual([]);
  },
);

it('reports only the first failure to save, and continues', async () => {
  const path = join(tempDirectory(), 'file', 'history.json');
  writeFileSync(join(path, '..'), 'in the way');
  const troubles: unknown[] = [];
  const history = await openInputHistory(path, noSecrets, (error) => troubles.push(error));
  history.save(['a']);
  history.save(['b', 'a']);
  expect(troubles).toHaveLength(1);
});

it('restricts a file that others could read', async () => {
  const path = join(tempDirectory(), 'history.json');
  writeFileSync(path, '{"entries": ["old"]}');
  chmodSync(path, 0o644);
  const history = await openInputHistory(path, noSecrets, noTrouble);
  history.save(['new', ...history.entries]);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ entries: ['new', 'old'] });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

// Only root can replace a device, or make one. Never link to the real /dev/null: it is the one of the whole machine.
it.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)(
  'keeps none in a device, and leaves it',
  async () => {
    const directory = tempDirectory();
    const device = join(directory, 'null');
    execFileSync('mknod', ['-m', '666', device, 'c', '1', '3']);
    const path = join(directory, 'history.json');
    symlinkSync(device, path);
    const history = await openInputHistory(path, noSecrets, noTrouble);
    history.save(['hello']);
    expect(history.entries).toEqual([]);
    expect(statSync(device).isCharacterDevice()).toBe(true);
    expect(statSync(device).mode & 0o777).toBe(0o666);
  },
);
