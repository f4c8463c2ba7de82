import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';

/** Expands `a/{b,c}.ts`. */
function expandBraces(pattern: string): readonly string[] {
  const [, start = '', names, end = ''] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
  return names === undefined ? [pattern] : names.split(',').map((name) => start + name + end);
}

describe('the rules of the linter', () => {
  it('name only files that exist, so that no rule ends when a file is renamed', async () => {
    const patterns = (await readFile('biome.json', 'utf8')).match(/(?<=")!?src\/[^"]*(?=")/g) ?? [];
    const paths = patterns.flatMap((pattern) => expandBraces(pattern.replace(/^!/, '').replace(/\/\*.*$/, '')));
    expect(paths.length).toBeGreaterThan(50);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });
});
