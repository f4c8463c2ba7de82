import { crc32 } from 'node:zlib';

/*
 * A line of the journal is one JSON object, `{"sum":"<CRC-32, 8 hex digits>","changes":[...]}`. It holds everything
 * that went to disk with one fsync, so a crash can harm the last line alone, and never half of a commit.
 */

const HEAD = /^\{"sum":"([0-9a-f]{8})","changes":/;
const HEAD_LENGTH = '{"sum":"00000000","changes":'.length;

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

/** Writes a line, newline included, from changes that are JSON already. */
export function writeLine(changes: readonly string[]): string {
  const list = `[${changes.join(',')}]`;
  return `{"sum":"${checksum(list)}","changes":${list}}\n`;
}

/** Reads a line without its newline: the changes as they were written, or undefined when the line is not intact. */
export function readLine(line: string): unknown[] | undefined {
  const sum = HEAD.exec(line)?.[1];
  const list = line.slice(HEAD_LENGTH, -1);
  if (sum === undefined || !line.endsWith(']}') || checksum(list) !== sum) return undefined;
  const changes: unknown = JSON.parse(list);
  return Array.isArray(changes) ? changes : undefined;
}

export interface ReadJournal {
  readonly changes: unknown[];
  /** Bytes from the start of the file that are intact; what follows is a torn last line. */
  readonly intactBytes: number;
}

/**
 * Reads a whole journal.
 * @throws Error for a line that is not intact though others follow it: that is damage, not a torn write.
 */
export function readLines(bytes: Buffer): ReadJournal {
  const changes: unknown[] = [];
  let start = 0;
  for (let number = 1; start < bytes.length; number += 1) {
    const end = bytes.indexOf(0x0a, start);
    const line = end === -1 ? undefined : readLine(bytes.toString('utf8', start, end));
    if (line === undefined) {
      if (end !== -1 && end + 1 < bytes.length) throw new Error(`line ${number} is damaged and is not the last one`);
      break;
    }
    for (const change of line) changes.push(change);
    start = end + 1;
  }
  return { changes, intactBytes: start };
}
