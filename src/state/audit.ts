import { readLog } from './log.ts';
import type { UnusableLine } from './unusable.ts';

/** What the whole of a state file holds, with the numbers of the lines that are not ordinary records. */
export interface Audit {
  /** How many records there are of each type. */
  readonly records: Readonly<Record<string, number>>;
  /** Lines that repeat an earlier one, as a union merge leaves them. Each record counts once. */
  readonly duplicates: readonly number[];
  /** Lines in a format that a later version of this program writes. */
  readonly newer: readonly { readonly line: number; readonly version: number }[];
  readonly damaged: readonly UnusableLine[];
}

/**
 * Reads every line of the log. A missing file is an empty log.
 * @throws LocalError when the file is there and cannot be read
 */
export async function auditLog(path: string): Promise<Audit> {
  const counts = new Map<string, number>();
  const duplicates: number[] = [];
  const newer: { line: number; version: number }[] = [];
  const damaged: UnusableLine[] = [];
  for await (const entry of readLog(path)) {
    const { line } = entry;
    switch (entry.kind) {
      case 'record':
        counts.set(entry.record.type, (counts.get(entry.record.type) ?? 0) + 1);
        break;
      case 'duplicate':
        duplicates.push(line);
        break;
      case 'newer':
        newer.push({ line, version: entry.version });
        break;
      case 'damaged':
        damaged.push({ line, why: entry.why });
        break;
    }
  }
  // Not assigned one by one: a type may have any name, `__proto__` too.
  return { records: Object.fromEntries(counts), duplicates, newer, damaged };
}
