import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROGRAM, start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { service, write } from '../support/service.ts';

test('The prerendered --help equals that of the program', async () => {
  const [written, told] = await Promise.all([start(['--help']), start(['help'])]);
  expect(written.exitCode).toBe(0);
  expect(written.stdout).toContain('Usage: partnerctl');
  expect(written.stdout).toBe(told.stdout);
});

test('The prerendered help -o json has the content of that of the program, on one line', async () => {
  const [prepared, made] = await Promise.all([start(['help', '-o', 'json']), start(['help', '-o', 'json', '--quiet'])]);
  expect(prepared.exitCode).toBe(0);
  expect(JSON.parse(prepared.stdout).name).toBe('partnerctl');
  expect(JSON.parse(prepared.stdout)).toEqual(JSON.parse(made.stdout));
  expect(prepared.stdout).toMatch(/^.*\n$/);
});

test('--version, --help, and help -o json load one file, and no module of the program', () => {
  const printPrepared = readFileSync(new URL('../../dist/chunks/print-prepared.cjs', import.meta.url), 'utf8');
  const loaded = [...printPrepared.matchAll(/require\(["'`]([^"'`]+)/g)].map(([, name]) => name);
  expect(loaded.length).toBeGreaterThan(0);
  expect(loaded.filter((name) => !/^(node:fs|url)$/.test(name ?? ''))).toEqual([]);
});

test('Commands that need no service do not load the HTTP client', () => {
  const chunks = join(PROGRAM, '..', '..', 'dist', 'chunks');
  const core = readdirSync(chunks).find((name) => name.startsWith('core-')) ?? '';
  expect(readFileSync(join(chunks, core), 'utf8')).not.toMatch(/require\(["'`]node:http["'`]\)/);
});

test('The compile cache is in the cache directory, which need not exist yet, private to the user', async () => {
  const directory = join(tempDirectory(), 'cache');
  const { exitCode } = await start(['state', 'path'], { env: { XDG_CACHE_HOME: directory } });
  expect(exitCode).toBe(0);
  const compiled = join(directory, 'partnerctl', 'compiled');
  expect(statSync(compiled).mode & 0o777).toBe(0o700);
  expect(readdirSync(compiled).length).toBe(1);
});

test('The compile cache is used, unless it is damaged', async () => {
  const sandbox = await service();
  const directory = tempDirectory();
  const env = { ...sandbox.env, XDG_CACHE_HOME: directory };
  const list = async () => expect(await start(['spaces', 'list'], { env })).toMatchObject({ exitCode: 0, stderr: '' });
  await list();
  const [version = ''] = readdirSync(join(directory, 'partnerctl', 'compiled'));
  const kept = join(directory, 'partnerctl', 'compiled', version);
  const files = readdirSync(kept).map((name) => join(kept, name));
  const changes = () => files.map((file) => statSync(file, { bigint: true }).mtimeNs);
  const written = changes();
  await list();
  expect(changes()).toEqual(written);
  for (const file of files) {
    const content = readFileSync(file);
    // In the middle, where V8 does not check.
    writeFileSync(file, content.fill(0xff, content.length / 2, content.length / 2 + 8));
  }
  await list();
});

test('The compile cache gains what a further command calls', async () => {
  const sandbox = await service();
  const directory = tempDirectory();
  const env = { ...sandbox.env, XDG_CACHE_HOME: directory };
  await start(['profile', 'list'], { env });
  const [version = ''] = readdirSync(join(directory, 'partnerctl', 'compiled'));
  const kept = join(directory, 'partnerctl', 'compiled', version);
  const core = readdirSync(kept).find((name) => name.startsWith('core-')) ?? '';
  const size = () => statSync(join(kept, core)).size;
  const before = size();
  await start(['spaces', 'list'], { env });
  expect(size()).toBeGreaterThan(before);
});

test('The compile cache keeps what V8 drops in a long run of a further command', async () => {
  const sandbox = await service();
  const directory = tempDirectory();
  const collect = write(
    'collect.cjs',
    `const { setFlagsFromString } = require('node:v8');
    for (const flag of ['--expose-gc', '--stress-flush-code']) setFlagsFromString(flag);
    const gc = require('node:vm').runInNewContext('gc');
    if (process.env.COLLECT) setInterval(gc, 20).unref();`,
  );
  const env = { ...sandbox.env, XDG_CACHE_HOME: directory, NODE_OPTIONS: `--require ${collect}` };
  await start(['spaces', 'list'], { env });
  const [version = ''] = readdirSync(join(directory, 'partnerctl', 'compiled'));
  const kept = join(directory, 'partnerctl', 'compiled', version);
  const files = readdirSync(kept).map((name) => join(kept, name));
  const sizes = () => files.map((file) => statSync(file).size);
  const before = sizes();
  await start(['sandbox', 'start', '--timeout', '1s'], { env: { ...env, COLLECT: '1' } });
  expect(readdirSync(kept).length).toBeGreaterThan(files.length);
  for (const [index, size] of sizes().entries()) expect(size).toBeGreaterThanOrEqual(before[index] ?? 0);
});

test('NODE_DISABLE_COMPILE_CACHE disables the compile cache', async () => {
  const directory = tempDirectory();
  const env = { XDG_CACHE_HOME: directory, NODE_DISABLE_COMPILE_CACHE: '1' };
  expect(await start(['state', 'path'], { env })).toMatchObject({ exitCode: 0 });
  expect(existsSync(join(directory, 'partnerctl'))).toBe(false);
});

test('There is no compile cache in a directory that others may write', async () => {
  const directory = tempDirectory();
  const compiled = join(directory, 'partnerctl', 'compiled');
  mkdirSync(compiled, { recursive: true });
  chmodSync(compiled, 0o777);
  const { exitCode } = await start(['state', 'path'], { env: { XDG_CACHE_HOME: directory } });
  expect(exitCode).toBe(0);
  expect(readdirSync(compiled)).toEqual([]);
});
