import { hash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { explained } from './failure.ts';
import { decodeLine, type LogRecord } from './record.ts';

/** One page: the system takes a write of it as a whole, even from a process that is killed in the middle. */
const SLOT_BYTES = 4096;

/** A file beside the state file that holds one record, replaced as often as one likes. */
export interface Slot {
  /**
   * Replaces the record. It survives the process once this resolves, but not yet a loss of power.
   * @param line as `encodeRecord` gives it
   * @returns false when the line is too long for a slot, which then stays as it is
   */
  write(line: string): Promise<boolean>;
  close(): Promise<void>;
}

function directoryOf(path: string): string {
  return `${path}.tails`;
}

function fileOf(path: string, name: string): string {
  return join(directoryOf(path), hash('sha256', name, 'hex').slice(0, 32));
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

/** Opens a slot for writing. @throws LocalError when it cannot be made; its `write` and `close` do so too */
export async function openSlot(path: string, name: string): Promise<Slot> {
  const place = fileOf(path, name);
  try {
    await mkdir(directoryOf(path), { recursive: true, mode: 0o700 });
    const file = await open(place, constants.O_WRONLY | constants.O_CREAT, 0o600);
    return {
      async write(line) {
        const bytes = Buffer.from(`${line}\n`);
        if (bytes.length > SLOT_BYTES) return false;
        // What a longer record left behind the line end is overwritten.
        const page = Buffer.alloc(SLOT_BYTES, '\n');
        bytes.copy(page);
        try {
          await file.write(page, 0, SLOT_BYTES, 0);
          return true;
        } catch (error) {
          throw await explained(error, place, 'written');
        }
      },
      close: () => file.close(),
    };
  } catch (error) {
    throw await explained(error, place, 'written');
  }
}

/**
 * The record of a slot; undefined when there is none, or not a whole one.
 * @throws LocalError when it is there and cannot be read
 */
export async function readSlot(path: string, name: string): Promise<LogRecord | undefined> {
  const place = fileOf(path, name);
  try {
    const bytes = await readFile(place);
    const end = bytes.indexOf('\n');
    const decoded = decodeLine(end === -1 ? bytes : bytes.subarray(0, end));
    return decoded.kind === 'record' ? decoded.record : undefined;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw await explained(error, place, 'read');
  }
}

/** How many slots there are beside the state file. @throws LocalError when they are there and cannot be counted */
export async function countSlots(path: string): Promise<number> {
  try {
    return (await readdir(directoryOf(path))).length;
  } catch (error) {
    if (isAbsent(error)) return 0;
    throw await explained(error, directoryOf(path), 'read');
  }
}
