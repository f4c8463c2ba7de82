import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'rolldown';

/*
 * Bundles the program into dist/, every library as published. Start-up time is felt at every call: CommonJS, because the
 * loader of ES modules takes a quarter of a bare start, and what a command does not need stays in chunks of its own.
 */

await rm('dist', { recursive: true, force: true });
const { output } = await build({
  input: { cli: 'src/start.ts' },
  platform: 'node',
  output: {
    dir: 'dist/program',
    format: 'cjs',
    minify: true,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    // What every start loads is one file: each file takes half a millisecond.
    codeSplitting: { groups: [{ name: 'start', tags: ['$initial'] }] },
  },
});
await cp('src/help', 'dist/help', { recursive: true });

/** The text of a package's license, under its name. */
async function readLicense(directory) {
  const { name, version, license } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
  const files = (await readdir(directory)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
  return [`${name} ${version} (${license})`, ...texts].join('\n\n');
}

// The bundled packages ask to keep their licenses with copies of their code.
const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
const packages = modules.flatMap(
  (id) => /.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id.replace('\0', ''))?.[0] ?? [],
);
const licenses = await Promise.all([...new Set(packages)].sort().map(readLicense));
await writeFile('dist/THIRD-PARTY-LICENSES.txt', licenses.join(`\n\n${'-'.repeat(80)}\n\n`));
