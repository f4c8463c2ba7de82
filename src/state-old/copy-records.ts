import { LocalError, NotFoundError } from '../errors.ts';
import { encodeRecord } from './record.ts';
import { readStore, refuseOtherContent, type StateStore } from './store.ts';

export interface Copied {
  /** The number of records that were appended. */
  readonly copied: number;
  /** The number of records that already existed. */
  readonly present: number;
}

/** Returns the lines of the intact records, in order. @throws LocalError if a line is damaged */
async function linesOf(store: StateStore, refuseDamage: boolean): Promise<string[]> {
  const lines: string[] = [];
  for await (const entry of readStore(store)) {
    if (entry.kind === 'record') lines.push(encodeRecord(entry.record));
    if (entry.kind === 'newer') lines.push(entry.bytes.toString());
    if (entry.kind !== 'damaged' || !refuseDamage) continue;
    throw new LocalError(`${store.label}:${entry.line} is damaged, so nothing was copied.`, {
      why: `It is ${entry.why}. It may be the record of something that exists.`,
      hint: 'Restore the line, or settle the job or file that it is about: partnerctl help state',
    });
  }
  return lines;
}

/**
 * Appends the records of one store that another does not have, in order. A repeat copies nothing.
 * @throws NotFoundError if `from` does not exist; LocalError if a store cannot be read or written, if a line of `from` is
 *   damaged, or if `to` has other content than records
 */
export async function copyRecords(from: StateStore, to: StateStore): Promise<Copied> {
  if (!(await from.exists())) {
    throw new NotFoundError(`There is no state at ${from.label}.`, { hint: 'Check the address. Nothing was copied.' });
  }
  const lines = await linesOf(from, true);
  await refuseOtherContent(to);
  const present = new Set(await linesOf(to, false));
  const missing = lines.filter((line) => !present.has(line));
  if (missing.length > 0) await to.appendLines(missing);
  return { copied: missing.length, present: lines.length - missing.length };
}
