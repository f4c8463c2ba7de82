import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { propertyRuns } from '../../support/properties.ts';
import { entries, ids, lineOf, temporaryDirectory } from './files.ts';

const run = promisify(execFile);

interface Copies {
  readonly base: readonly string[];
  readonly ours: readonly string[];
  readonly theirs: readonly string[];
}

async function writeCopies(directory: string, { base, ours, theirs }: Copies): Promise<string[]> {
  const content = (made: readonly string[]) => made.map((id) => `\n${lineOf(id)}\n`).join('');
  const files = { ours: [...base, ...ours], base, theirs: [...base, ...theirs] };
  return Promise.all(
    Object.entries(files).map(async ([name, made]) => {
      await writeFile(join(directory, name), content(made));
      return join(directory, name);
    }),
  );
}

/** Merges two copies that diverged with git. A conflict is not an error here: git leaves its markers. */
async function merge(directory: string, copies: Copies, flags: readonly string[]): Promise<string> {
  const files = await writeCopies(directory, copies);
  const merged = join(directory, 'merged.jsonl');
  const stdout = await run('git', ['merge-file', '-p', ...flags, ...files]).then(
    (done) => done.stdout,
    (error: { stdout: string }) => error.stdout,
  );
  await writeFile(merged, stdout);
  return merged;
}

const some = (prefix: string) =>
  fc.integer({ min: 0, max: 6 }).map((n) => Array.from({ length: n }, (_, i) => `${prefix}${i}`));

describe('two copies of a state file merged by git', () => {
  it('property: contain each record once, in the order of its copy', async () => {
    const directory = await temporaryDirectory();
    const copies = fc.record({ base: some('b'), ours: some('o'), theirs: some('t'), shared: some('s') });
    await fc.assert(
      fc.asyncProperty(copies, async ({ base, ours, theirs, shared }) => {
        const path = await merge(directory, { base, ours: [...ours, ...shared], theirs: [...theirs, ...shared] }, [
          '--union',
        ]);
        const read = await ids(path);
        expect([...read].sort()).toEqual([...base, ...ours, ...theirs, ...shared].sort());
        const inOrder = (made: readonly string[]) => read.filter((id) => made.includes(id));
        expect(inOrder([...base, ...ours])).toEqual([...base, ...ours]);
        expect(inOrder([...base, ...theirs])).toEqual([...base, ...theirs]);
      }),
      { numRuns: propertyRuns(25) },
    );
  });

  it('lose no record to an unresolved conflict', async () => {
    const directory = await temporaryDirectory();
    const path = await merge(directory, { base: ['b'], ours: ['o'], theirs: ['t'] }, []);
    expect((await ids(path)).sort()).toEqual(['b', 'o', 't']);
    const damaged = (await entries(path)).filter((entry) => entry.kind === 'damaged');
    expect(damaged).toHaveLength(3);
    for (const { why } of damaged) expect(why).toBe('a merge conflict marker');
  });
});
