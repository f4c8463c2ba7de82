import fc from 'fast-check';
import picomatch from 'picomatch';
import { expect, test } from 'vitest';
import { UsageError } from '../../../src/errors.ts';
import { spaceSelector } from '../../../src/provision/select.ts';

const joined = (...parts: string[]) =>
  fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 4 }).map((some) => some.join(''));

const ids = fc.array(fc.option(joined('a', 'b', '-', '.', '/', '!', '1'), { freq: 9 }), { minLength: 1, maxLength: 8 });
const globs = fc.array(joined('a', 'b', '-', '.', '/', '*', '**', '?', '!', '[ab]', '{a,b-}', '1'), { maxLength: 2 });

test('A space is selected if a glob of --only and none of --exclude matches it, as picomatch says; one that matches none is refused', async () => {
  const check = async (all: readonly (string | null)[], only: readonly string[], exclude: readonly string[]) => {
    const isMatch = (id: string | null, glob: string) =>
      id !== null && picomatch.isMatch(id, glob, { nonegate: true, dot: true });
    const selected = async () => all.filter(await spaceSelector(all, { only, exclude }));
    const useless = [...only, ...exclude].find((glob) => !all.some((id) => isMatch(id, glob)));
    if (useless !== undefined) {
      await expect(selected()).rejects.toThrow(UsageError);
      return;
    }
    const wanted = all.filter((id) => only.length === 0 || only.some((glob) => isMatch(id, glob)));
    expect(await selected()).toEqual(wanted.filter((id) => !exclude.some((glob) => isMatch(id, glob))));
  };
  await fc.assert(fc.asyncProperty(ids, globs, globs, check), { numRuns: 500 });
});
