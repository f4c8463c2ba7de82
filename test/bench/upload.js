import { spawnSync } from 'node:child_process';
import { createHash, randomFillSync } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withDiscardService } from './harness/bulk-service.js';
import { withDirectory } from './harness/directory.js';
import { alternate, growth, LEAST_NAME, run, shared, time } from './harness/measure.js';
import { PROGRAM, peakMemory, withSandbox } from './harness/sandbox.js';

const LEAST = fileURLToPath(new URL('bare/upload-files.js', import.meta.url));
const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const PATH = '/automation/file-attachments/';

const hasCurl = spawnSync('curl', ['--version']).status === 0;

async function randomFile(path, bytes) {
  const file = await open(path, 'w');
  const chunk = Buffer.alloc(16 * MIB);
  for (let left = bytes; left > 0; left -= chunk.length) {
    randomFillSync(chunk);
    await file.write(chunk, 0, Math.min(left, chunk.length));
  }
  await file.close();
}

/** Runs a program to its end. Returns its wall time in seconds; throws if it fails. */
const seconds = async (file, args, env) => (await run(file, args, env)).ms / 1000;

/** Runs a measurement with a separate sandbox, and a file in a new directory; removes everything afterwards. */
function withFile(bytes, make, measure) {
  return withDirectory((directory) =>
    withSandbox(
      async (sandbox) => {
        const path = join(directory, 'upload.bin');
        await make(path, bytes);
        const args = ['upload', path, '--force', '--state', join(directory, 'state.jsonl'), '-o', 'json'];
        return await measure({ path, args, sandbox });
      },
      join(directory, 'data'),
    ),
  );
}

/**
 * An upload of 2 GiB by the program and by `curl -F`, alternately, in seconds; and peak memory in MiB: the client's above that of
 * --version, the sandbox's above itself when idle (NaN if the system does not report it).
 */
const bigUpload = shared(({ rounds }) =>
  withFile(2 * GIB, randomFile, async ({ path, args, sandbox }) => {
    const { PARTNER_BASE_URL, PARTNER_TOKEN } = sandbox.env;
    const idle = sandbox.peakMiB();
    const form = ['-sS', '--fail', '-F', `file=@${path}`, '-H', `Authorization: Bearer ${PARTNER_TOKEN}`];
    // The received file is dropped each time: pages that wait to be written to disk would slow down the next upload.
    const timed = async (...command) => {
      const taken = await seconds(...command);
      await sandbox.admin('/reset', {});
      return taken;
    };
    const theirs = hasCurl ? () => timed('curl', [...form, PARTNER_BASE_URL + PATH], {}) : () => Number.NaN;
    const ours = () => timed(process.execPath, [PROGRAM, ...args], sandbox.env);
    const times = await alternate({ ours, theirs, rounds: Math.min(rounds, 9) });
    const client = (await peakMemory(args, sandbox.env)) - (await peakMemory(['--version'], {}));
    return { times, client, service: sandbox.peakMiB() - idle };
  }),
);

/** Whether a sparse file of that many bytes arrives with the right sha256. */
async function sparseArrives(bytes) {
  const make = async (path) => {
    await writeFile(path, 'begin');
    await truncate(path, bytes);
  };
  return withFile(bytes, make, async ({ path, args, sandbox }) => {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path, { highWaterMark: MIB })) hash.update(chunk);
    await seconds(process.execPath, [PROGRAM, ...args], sandbox.env);
    const { uploads } = await sandbox.read('/uploads');
    return uploads.length === 1 && uploads[0].bytes === bytes && uploads[0].sha256 === hash.digest('hex');
  });
}

/** The memory cost of each additional file in a directory, in KiB: all of them are examined before the first is sent. */
function memoryPerFile(few, many, env) {
  return withDirectory(async (directory) => {
    const peak = async (name, count) => {
      const below = join(directory, name);
      await mkdir(below);
      for (let index = 0; index < count; index += 1) await writeFile(join(below, `f${index}.txt`), `content ${index}`);
      const state = ['--state', join(directory, 'state.jsonl')];
      return await peakMemory(['upload', below, '--recursive', '--dry-run', '-o', 'ndjson', ...state], env);
    };
    return ((await peak('many', many)) - (await peak('few', few))) * (1024 / (many - few));
  });
}

/** An upload of a sparse file to a server that discards it, compared with curl and then sha256sum, in milliseconds. */
function discarded({ rounds }) {
  return withDiscardService((env) =>
    withDirectory(async (directory) => {
      const path = join(directory, 'upload.bin');
      await writeFile(path, '');
      await truncate(path, 2 * GIB);
      const args = [PROGRAM, 'upload', path, '--force', '--state', join(directory, 'state.jsonl'), '-o', 'json'];
      const form = ['--silent', '--fail', '--form', `file=@${path}`, env.PARTNER_BASE_URL + PATH];
      return await alternate({
        ours: async () => (await time(args, { ...env, HOME: directory })).ms,
        theirs: async () => (await run('curl', form, {})).ms + (await run('sha256sum', [path], {})).ms,
        rounds: Math.min(rounds, 5),
      });
    }),
  );
}

/** Files of 4 KB in a directory. @returns the directory */
async function smallFiles(directory, count) {
  const below = join(directory, `files-${count}`);
  await mkdir(below);
  for (let index = 0; index < count; index += 1)
    await writeFile(join(below, `f${index}.txt`), `file ${index} `.repeat(512).slice(0, 4096));
  return below;
}

/** The arguments of an upload of all files in a directory. */
function uploadAll(below, state) {
  return [PROGRAM, 'upload', below, '--recursive', '--concurrency', '16', '--state', state, '-o', 'json'];
}

const SMALL_FILES = 2_000;

/**
 * Prepares uploads of many small files.
 * @param theirs measures once what they are compared with: gets the environment for commands, and the directories of the files and
 *   for anything else
 */
function manySmall(theirs) {
  return ({ rounds }) =>
    withDiscardService((env) =>
      withDirectory(async (directory) => {
        const state = join(directory, 'state.jsonl');
        const below = await smallFiles(directory, SMALL_FILES);
        return await alternate({
          async ours() {
            await rm(state, { force: true });
            return (await time(uploadAll(below, state), { ...env, HOME: directory })).ms;
          },
          theirs: async () => (await theirs({ env, below, directory })).ms,
          rounds: Math.min(rounds, 7),
        });
      }),
    );
}

/** The same forms. */
async function curlForms({ env, below, directory }) {
  const config = join(directory, 'curl.cfg');
  const requests = (await readdir(below)).map(
    (name) =>
      `no-progress-meter\nurl = "${env.PARTNER_BASE_URL + PATH}"\nform = "file=@${join(below, name)}"\noutput = /dev/null\n`,
  );
  await writeFile(config, requests.join('next\n'));
  return await run('curl', ['--silent', '--parallel', '--parallel-max', '16', '--config', config], {});
}

async function leastUpload({ env, below, directory }) {
  const records = join(directory, 'least.jsonl');
  await rm(records, { force: true });
  return await time([LEAST, below, records], env);
}

/** How the cost of an upload grows with the number of files. */
function growthOfFiles() {
  return withDiscardService((env) =>
    withDirectory(async (directory) => {
      const sizes = [50, 500, 5_000];
      const folders = new Map();
      for (const size of sizes) folders.set(size, await smallFiles(directory, size));
      const own = { ...env, HOME: directory };
      const fixed = async () => (await time([PROGRAM, 'upload', '--help'], own)).ms;
      const cost = async (size, round) =>
        (await time(uploadAll(folders.get(size), join(directory, `state-${size}-${round}.jsonl`)), own)).ms;
      return await growth({ sizes, cost, fixed });
    }),
  );
}

/** How the cost of an upload grows with the size of its file. */
function growthOfBytes() {
  return withDiscardService((env) =>
    withDirectory(async (directory) => {
      const state = join(directory, 'state.jsonl');
      const upload = async (bytes) => {
        const path = join(directory, `upload-${bytes}.bin`);
        await writeFile(path, '');
        await truncate(path, bytes);
        const args = [PROGRAM, 'upload', path, '--force', '--state', state, '-o', 'json'];
        return (await time(args, { ...env, HOME: directory })).ms;
      };
      // The first run compiles the program.
      await upload(1);
      const fixed = () => upload(1);
      return await growth({ sizes: [50 * MIB, 500 * MIB, 5_000 * MIB], cost: upload, fixed });
    }),
  );
}

const withoutCurl = () => (hasCurl ? undefined : 'curl is not installed');

export const rows = [
  {
    name: 'upload of 2 GiB to a server that discards it',
    beside: 'curl -F, then sha256sum',
    limit: 1.1,
    skip: withoutCurl,
    measure: discarded,
  },
  {
    name: 'upload of 2,000 files of 4 KB, 16 at a time',
    beside: 'curl --parallel, the same forms',
    limit: 4,
    skip: withoutCurl,
    measure: manySmall(curlForms),
  },
  {
    name: 'upload of 2,000 files of 4 KB, 16 at a time, as promised',
    beside: LEAST_NAME,
    limit: 1.9,
    measure: manySmall(leastUpload),
  },
  { name: 'growth of an upload with the number of files', limit: 1.05, measure: growthOfFiles },
  { name: 'growth of an upload with the size of the file', limit: 1.05, measure: growthOfBytes },
  {
    name: 'memory of each further file of an upload',
    unit: 'KiB',
    limit: 5,
    measure: () => withSandbox(async ({ env }) => ({ values: [await memoryPerFile(5_000, 20_000, env)] })),
  },
  {
    name: 'upload of 2 GiB to the sandbox',
    beside: 'curl -F',
    unit: 's',
    limit: 1.11,
    skip: () => (hasCurl ? undefined : 'there is no curl'),
    measure: async (context) => (await bigUpload(context)).times,
  },
  {
    name: 'memory of an upload of 2 GiB above --version',
    unit: 'MiB',
    limit: 130,
    measure: async (context) => ({ values: [(await bigUpload(context)).client] }),
  },
  {
    name: 'memory of the sandbox meanwhile, above idle',
    unit: 'MiB',
    limit: 150,
    skip: () => (process.platform === 'linux' ? undefined : 'the system does not tell'),
    measure: async (context) => ({ values: [(await bigUpload(context)).service] }),
  },
  {
    name: 'sparse files of 5 GiB that arrive with another sha256, of 1',
    unit: 'files',
    limit: 0,
    measure: async () => ({ values: [(await sparseArrives(5 * GIB)) ? 0 : 1] }),
  },
];
