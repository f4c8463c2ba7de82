import { LocalError, NotFoundError } from '../errors.ts';
import { type Log, repairHint } from './log.ts';

/** @throws LocalError if a log has lines, and none of them is a record or what is left of one */
export async function refuseOtherContent(log: Log): Promise<void> {
  const entries = (await log.inspect()) ?? [];
  if (entries.length === 0 || entries.some(({ kind }) => kind !== 'damaged')) return;
  throw new LocalError(`This is not a state: ${log.label}`, {
    why: `It has ${entries.length} ${entries.length === 1 ? 'line' : 'lines'}, and no record.`,
    hint: 'Nothing was changed. Check the address, or name another place.',
  });
}

/**
 * Appends the records of one log that another does not have, in order. A repeat copies nothing.
 * @throws NotFoundError if `from` does not exist; LocalError if a log cannot be read or written, if a line of one is damaged,
 *   or if `to` has other content than records
 */
export async function copyRecords(from: Log, to: Log): Promise<{ readonly copied: number; readonly present: number }> {
  const entries = await from.inspect();
  if (!entries) {
    throw new NotFoundError(`There is no state at ${from.label}.`, { hint: 'Check the address. Nothing was copied.' });
  }
  const damage = entries.find((entry) => entry.kind === 'damaged');
  if (damage) {
    throw new LocalError(`${from.label}:${damage.line} cannot be used, so nothing was copied.`, {
      why: `It is ${damage.why}. It may be the record of something that exists.`,
      hint: repairHint(damage.why),
    });
  }
  await refuseOtherContent(to);
  return await to.copyFrom(entries);
}
