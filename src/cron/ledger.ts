import type { Context } from '../cli/context.ts';
import { OutcomeUnknownError } from '../errors.ts';
import { appendCronRecord, type CronLog, type JobName, readCronLog } from '../state/cron.ts';
import { leaveRecord } from '../state/recovery.ts';
import type { Ledger } from './create-once.ts';

export interface OpenedLedger extends Ledger {
  /** The sound records of all keys. @throws LocalError */
  readAll(): Promise<CronLog>;
}

/**
 * The state file for a command that reads and writes records of jobs. Lines that cannot be used are said once.
 * @param said the lines of the file that were warned of already
 * @throws OutcomeUnknownError, on reading, where a newer version of this program wrote of the same job
 */
export async function openLedger(context: Context, said = new Set<number>()): Promise<OpenedLedger> {
  const path = await context.statePath();

  async function read(only?: JobName): Promise<CronLog> {
    const log = await readCronLog(path, only);
    for (const { line, why } of [...log.damaged, ...log.newer]) {
      if (!said.has(line)) await context.warn(`${path}:${line} is left out: ${why}`);
      said.add(line);
    }
    return log;
  }

  return {
    async read(job) {
      const { records, newer } = await read(job);
      const [first] = newer;
      if (first === undefined) return records;
      throw new OutcomeUnknownError('What the state file says of this job cannot be read.', {
        why: `${path}:${first.line} is ${first.why}.`,
        hint: 'Nothing was sent. Use that version of partnerctl.',
      });
    },
    readAll: () => read(),
    append: (record) => appendCronRecord(path, record),
    rescue: (record) => leaveRecord(path, record),
  };
}
