import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const FOLDER = new URL('../../src/sandbox/', import.meta.url);

/** The files of the sandbox that each of them imports, types included. */
function readImports(): Map<string, readonly string[]> {
  const imports = (file: string) =>
    [...readFileSync(new URL(file, FOLDER), 'utf8').matchAll(/ from '\.\/(.+)'|import\('\.\/(.+)'\)/g)].map(
      ([, name, dynamic]) => name ?? dynamic ?? '',
    );
  return new Map(readdirSync(FOLDER).map((file) => [file, imports(file)]));
}

test('No file of the sandbox imports one that imports it, not even a type', () => {
  const left = readImports();
  expect(left.get('index.ts')).toContain('app.ts');
  // Take away what imports only what is gone, until nothing is left.
  for (let before = 0; before !== left.size; ) {
    before = left.size;
    for (const [file, names] of [...left]) if (!names.some((name) => left.has(name))) left.delete(file);
  }
  expect([...left.keys()]).toEqual([]);
});

test('Each test that shows a sentence of the specification exists', () => {
  const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');
  const named = [...read('README.md').matchAll(/`(\w+\.test\.ts)`: (.+?)(?=;| \|)/g)];
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter(([, file = '', title = '']) => !read(file).includes(title)).map(([row]) => row)).toEqual([]);
});
