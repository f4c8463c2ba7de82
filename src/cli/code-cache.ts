import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
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
  writeFileSync(partial, Buffer.concat([data, end]), { mode: 0o600 });
  renameSync(partial, file);
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
  const loaded = new Map<string, Script>();
  let isStale = false;

  createRequire(import.meta.filename).extensions['.cjs'] = (module, filename) => {
    const file = join(directory, `${basename(filename)}.bin`);
    const cachedData = readCode(file, crc32);
    const script = new VmScript(wrap(readFileSync(filename).toString()), {
      filename,
      ...(cachedData && { cachedData }),
    });
    loaded.set(file, script);
    isStale ||= cachedData === undefined || script.cachedDataRejected === true;
    const run = script.runInThisContext();
    run.call(module.exports, module.exports, (id: string) => module.require(id), module, filename, dirname(filename));
  };
  return () => {
    if (!isStale) return;
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      for (const [file, script] of loaded) {
        const data = script.createCachedData();
        writeCode(file, data, crc32(data));
      }
    } catch {
      // The next run compiles again.
    }
  };
}
