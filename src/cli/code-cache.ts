import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Script } from 'node:vm';

const CHECKSUM_BYTES = 4;

/** Reads cached code. @returns undefined if it is missing or damaged: V8 hardly checks it, and crashes on damaged code */
function readCode(file: string, checksum: (data: Buffer) => number): Buffer | undefined {
  try {
    const content = readFileSync(file);
    const data = content.subarray(0, -CHECKSUM_BYTES);
    return content.readUInt32LE(data.length) === checksum(data) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the file atomically, because other processes may be reading it. */
function writeCode(file: string, data: Buffer, checksum: number): void {
  const end = Buffer.alloc(CHECKSUM_BYTES);
  end.writeUInt32LE(checksum);
  const partial = `${file}.${process.pid}`;
  try {
    writeFileSync(partial, Buffer.concat([data, end]), { mode: 0o600 });
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

interface LoadedChunk {
  readonly script: Script;
  /** The size of the cached code that was used; 0 if there was none. */
  readonly cachedBytes: number;
}

/**
 * Caches the code of each chunk that is loaded from now on. The name of a chunk contains a hash of its content, so a cached
 * file never belongs to another version. Node's own compile cache keeps of a shared chunk only the functions that the first
 * command called; the others would be compiled at each start.
 * @param parent the directory of the caches of all Node versions
 * @returns a function that writes the code, including functions that were compiled lazily, if a chunk was not cached yet
 */
export function cacheCode(parent: string): () => void {
  const { createRequire, wrap } = process.getBuiltinModule('node:module');
  const { Script: VmScript } = process.getBuiltinModule('node:vm');
  const { crc32 } = process.getBuiltinModule('node:zlib');
  const directory = join(parent, `${process.version}-${process.arch}`);
  const loaded = new Map<string, LoadedChunk>();

  createRequire(import.meta.filename).extensions['.cjs'] = (module, filename) => {
    const file = join(directory, `${basename(filename)}.bin`);
    const cachedData = readCode(file, crc32);
    const script = new VmScript(wrap(readFileSync(filename).toString()), {
      filename,
      ...(cachedData && { cachedData }),
    });
    loaded.set(file, { script, cachedBytes: script.cachedDataRejected ? 0 : (cachedData?.length ?? 0) });
    const run = script.runInThisContext();
    run.call(module.exports, module.exports, (id: string) => module.require(id), module, filename, dirname(filename));
  };
  return () => {
    if ([...loaded.values()].every(({ cachedBytes }) => cachedBytes > 0)) return;
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      for (const [file, { script, cachedBytes }] of loaded) {
        const data = script.createCachedData();
        // In a long run, V8 drops code that has not run for a while.
        if (data.length > cachedBytes) writeCode(file, data, crc32(data));
      }
    } catch {
      // The next run compiles again.
    }
  };
}
