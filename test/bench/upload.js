import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from './measure.js';
import { PROGRAM, peakMemory, startSandbox } from './sandbox.js';

const MIB = 1024 * 1024;
const PATH = '/automation/file-attachments/';

export const hasCurl = spawnSync('curl', ['--version']).status === 0;

async function randomFile(path, bytes) {
  const file = await open(path, 'w');
  const chunk = Buffer.alloc(16 * MIB);
  for (let left = bytes; left > 0; left -= chunk.length) {
    randomFillSync(chunk);
    await file.write(chunk, 0, Math.min(left, chunk.length));
  }
  await file.close();
}

/** Runs a program to its end. Gives its wall time in seconds; throws when it fails. */
async function seconds(file, args, env) {
  const started = performance.now();
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
  return (performance.now() - started) / 1000;
}

/** What a sandbox of its own makes of the measuring, with a file in a directory of its own; all of it is gone afterwards. */
async function withFile(bytes, make, measure) {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-bench-'));
  const sandbox = await startSandbox(join(directory, 'data'));
  try {
    const path = join(directory, 'upload.bin');
    await make(path, bytes);
    const words = ['upload', path, '--force', '--state', join(directory, 'state.jsonl'), '-o', 'json'];
    return await measure({ path, words, sandbox });
  } finally {
    await sandbox.stop();
    await rm(directory, { recursive: true });
  }
}

/**
 * An upload of so many bytes by the program and by `curl -F`, in turn.
 * @returns medians in seconds (curl's undefined where there is none), and peak memory in MiB: the client's above that of
 * --version, the sandbox's above itself when idle (NaN where the system does not tell)
 */
export async function uploadSpeed(bytes, rounds) {
  return withFile(bytes, randomFile, async ({ path, words, sandbox }) => {
    const { PARTNER_BASE_URL, PARTNER_TOKEN } = sandbox.env;
    const idle = sandbox.peakMiB();
    const form = ['-sS', '--fail', '-F', `file=@${path}`, '-H', `Authorization: Bearer ${PARTNER_TOKEN}`];
    // What was received is dropped each time: pages that wait to be written to the disk would slow down whoever comes next.
    const timed = async (...command) => {
      const taken = await seconds(...command);
      await sandbox.admin('/reset', {});
      return taken;
    };
    const curl = () => timed('curl', [...form, PARTNER_BASE_URL + PATH], {});
    const own = () => timed(process.execPath, [PROGRAM, ...words], sandbox.env);
    const [ours, theirs] = [[], []];
    for (let round = -1; round < rounds; round += 1) {
      // Whoever comes second finds other pages waiting to be written to the disk, so they change places.
      const first = round % 2 === 0;
      const [a, b] = first ? [await own(), hasCurl && (await curl())] : [hasCurl && (await curl()), await own()];
      if (round < 0) continue;
      ours.push(first ? a : b);
      theirs.push(first ? b : a);
    }
    const client = (await peakMemory(words, sandbox.env)) - (await peakMemory(['--version'], {}));
    const service = sandbox.peakMiB() - idle;
    return { ours: median(ours), theirs: hasCurl ? median(theirs) : undefined, client, service };
  });
}

/** Whether a file of so many bytes, most of them a hole, arrives with the right sha256. */
export async function sparseArrives(bytes) {
  const make = async (path) => {
    await writeFile(path, 'begin');
    await truncate(path, bytes);
  };
  return withFile(bytes, make, async ({ path, words, sandbox }) => {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path, { highWaterMark: MIB })) hash.update(chunk);
    await seconds(process.execPath, [PROGRAM, ...words], sandbox.env);
    const { uploads } = await sandbox.read('/uploads');
    return uploads.length === 1 && uploads[0].bytes === bytes && uploads[0].sha256 === hash.digest('hex');
  });
}

/** What each further file of a directory costs in memory, in KiB: all of them are looked at before the first is sent. */
export async function memoryPerFile(few, many, env) {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-bench-'));
  const peak = async (name, count) => {
    const below = join(directory, name);
    await mkdir(below);
    for (let index = 0; index < count; index += 1) await writeFile(join(below, `f${index}.txt`), `content ${index}`);
    const state = ['--state', join(directory, 'state.jsonl')];
    return await peakMemory(['upload', below, '--recursive', '--dry-run', '-o', 'ndjson', ...state], env);
  };
  try {
    return ((await peak('many', many)) - (await peak('few', few))) * (1024 / (many - few));
  } finally {
    await rm(directory, { recursive: true });
  }
}
