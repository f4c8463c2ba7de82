import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { lazyCommander, slimUndici } from './plugins.js';

/**
 * Builds dist/executable/partnerctl: Node (the one that runs this script), the program, and its texts in one file, which
 * needs no Node on the machine. https://nodejs.org/api/single-executable-applications.html
 */

const DIRECTORY = 'dist/executable';
const EXECUTABLE = join(DIRECTORY, process.platform === 'win32' ? 'partnerctl.exe' : 'partnerctl');
const SCRIPT = join(DIRECTORY, 'main.cjs');
const BLOB = join(DIRECTORY, 'main.blob');
const CONFIG = join(DIRECTORY, 'config.json');

/** Node looks for this text in itself to know that a blob was injected. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** An executable runs one CommonJS script, and reads its texts from the blob. */
async function bundleScript() {
  const bundle = await rolldown({
    input: 'src/cli/executable.ts',
    platform: 'node',
    plugins: [
      slimUndici,
      lazyCommander,
      {
        name: 'executable-installation',
        load: (id) =>
          id.endsWith('/src/cli/installation.ts') ? "export * from './executable-installation.ts';" : null,
      },
    ],
    // Only the keychain uses it, which the executable does not have.
    transform: { define: { 'import.meta.url': 'undefined' } },
  });
  await bundle.write({ file: SCRIPT, format: 'cjs', dynamicImportInCjs: false, minify: true, codeSplitting: false });
}

async function listAssets() {
  const topics = (await readdir('dist/help')).map((name) => `help/${name}`);
  return Object.fromEntries([...topics, 'help.txt', 'help.json', 'complete.json'].map((name) => [name, join('dist', name)]));
}

function run(command, ...args) {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stderr}`);
}

const isMac = process.platform === 'darwin';

/** Injects the blob into a copy of Node. macOS runs only signed programs, so the signature is renewed. */
async function inject() {
  const { inject: injectBlob } = await import('postject');
  await copyFile(process.execPath, EXECUTABLE);
  await chmod(EXECUTABLE, 0o755);
  if (isMac) run('codesign', '--remove-signature', EXECUTABLE);
  await injectBlob(EXECUTABLE, 'NODE_SEA_BLOB', await readFile(BLOB), {
    sentinelFuse: FUSE,
    ...(isMac && { machoSegmentName: 'NODE_SEA' }),
  });
  if (isMac) run('codesign', '--sign', '-', EXECUTABLE);
}

await rm(DIRECTORY, { recursive: true, force: true });
await mkdir(DIRECTORY, { recursive: true });
await bundleScript();
const config = { main: SCRIPT, output: BLOB, disableExperimentalSEAWarning: true, useCodeCache: true };
await writeFile(CONFIG, JSON.stringify({ ...config, assets: await listAssets() }));
run(process.execPath, '--experimental-sea-config', CONFIG);
await inject();
await Promise.all([SCRIPT, BLOB, CONFIG].map((file) => rm(file)));
process.stdout.write(`${EXECUTABLE}\n`);
