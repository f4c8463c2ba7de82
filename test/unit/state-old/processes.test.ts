import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { entries, ids, temporaryDirectory } from './files.ts';
import { builtChild, runProgram, started } from './program.ts';

describe('several processes that share a file', () => {
  it('append concurrently without tearing a record', async () => {
    const directory = await temporaryDirectory();
    const child = await builtChild(directory);
    const path = join(directory, 'deep', 'state.jsonl');
    const writers = Array.from({ length: 4 }, (_, index) => `w${index}`);
    const acknowledged = await Promise.all(
      writers.map((writer) => runProgram(process.execPath, [child, 'append', path, writer, '100'])),
    );
    const found = await entries(path);
    expect(found.filter(({ kind }) => kind !== 'record')).toEqual([]);
    const read = await ids(path);
    expect(read).toHaveLength(400);
    expect([...read].sort()).toEqual(acknowledged.flat().sort());
    for (const [index, writer] of writers.entries()) {
      expect(read.filter((id) => id.startsWith(`${writer}-`))).toEqual(acknowledged[index]);
    }
  });

  it.each(['append', 'groups'])('lose no acknowledged record when they are killed: %s', async (task) => {
    const directory = await temporaryDirectory();
    const child = await builtChild(directory);
    const path = join(directory, 'state.jsonl');
    const acknowledged: string[] = [];
    const killedAfter = async (writer: string, count: number) => {
      const { process: writing, lines } = started(process.execPath, [child, task, path, writer, 'Infinity']);
      const closed = once(writing, 'close');
      let seen = 0;
      for await (const id of lines) {
        acknowledged.push(id);
        seen += 1;
        if (seen === count) writing.kill('SIGKILL');
      }
      await closed;
    };
    await Promise.all(Array.from({ length: 4 }, (_, index) => killedAfter(`k${index}`, 5 + index * 6)));
    const survivor = await runProgram(process.execPath, [child, task, path, 'after', '3']);
    const read = new Set(await ids(path));
    expect(acknowledged.length).toBeGreaterThanOrEqual(4 * 5);
    expect([...acknowledged, ...survivor].filter((id) => !read.has(id))).toEqual([]);
  });
});
