import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';

/** Expands `a/{b,c}.ts`. */
function expandBraces(pattern: string): readonly string[] {
  const [, start = '', names, end = ''] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
  return names === undefined ? [pattern] : names.split(',').map((name) => start + name + end);
}

/** Returns the names in groups such as `/\/src\/api\/(?!call-errors|chat)/`, by folder. */
function namesInGroups(script: string): readonly { readonly folder: string; readonly name: string }[] {
  const groups = script.matchAll(/(\w+(?:\\\/\w+)*)\\\/\((?:\?!)?([\w|-]+)\)/g);
  return [...groups].flatMap(([, path = '', names = '']) => {
    if (path.startsWith('node_modules')) return [];
    const folder = `src/${path.replaceAll('\\/', '/').replace(/^src\/?/, '')}`.replace(/\/$/, '');
    return names.split('|').map((name) => ({ folder, name }));
  });
}

describe('every file that is named in', () => {
  it('the rules of the linter exists', async () => {
    const patterns = (await readFile('biome.json', 'utf8')).match(/(?<=")!?src\/[^"]*(?=")/g) ?? [];
    const paths = patterns.flatMap((pattern) => expandBraces(pattern.replace(/^!/, '').replace(/\/\*.*$/, '')));
    expect(paths.length).toBeGreaterThan(50);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('the groups of the build exists', async () => {
    const named = namesInGroups(await readFile('.ci/build.js', 'utf8'));
    const missing: string[] = [];
    for (const { folder, name } of named) {
      const files = await readdir(folder);
      if (!files.some((file) => file.startsWith(name))) missing.push(`${folder}/${name}`);
    }
    expect(named.length).toBeGreaterThan(50);
    expect(missing).toEqual([]);
  });
});
