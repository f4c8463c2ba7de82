import type { Context } from '../cli/context.ts';
import { OutcomeUnknownError } from '../errors.ts';
import { type Ledger, openLedger } from '../state/ledger.ts';
import { fileStore, lineWarner } from '../state/log.ts';
import { fieldsText, fieldText } from '../state/record.ts';
import type { CronJob } from './job.ts';
import { JOB_RECORDS, type JobSnapshot } from './job-records.ts';

/** The state file's records of scheduled jobs. */
export interface JobLedger extends Ledger<JobSnapshot> {
  /**
   * Refuses a job if the part of the log that was read has a record of it from a newer version of this program.
   * @throws OutcomeUnknownError
   */
  refuseNewer(job: Pick<CronJob, 'agent_id' | 'name'> & { readonly key: string }): void;
}

/**
 * Opens the records of scheduled jobs in a command's state file. Warns once about each unusable line.
 * @param warned the numbers of the lines that the user was already warned about
 */
export async function openJobLedger(context: Context, warned = new Set<number>()): Promise<JobLedger> {
  const path = await context.statePath();
  const store = fileStore(path, { redact: context.redact, containing: JOB_RECORDS.searchTexts });
  const ledger = openLedger(store, JOB_RECORDS, {
    onUnusable: lineWarner(path, (text) => context.warn(text), warned),
  });
  return {
    ...ledger,
    refuseNewer({ key, agent_id, name }) {
      const texts = [fieldText('key', key), fieldsText({ agent_id, name })];
      const newer = ledger.newer.find(({ text }) => texts.some((each) => text.includes(each)));
      if (!newer) return;
      throw new OutcomeUnknownError('The state file has a record of this job that this version cannot read.', {
        why: `${path}:${newer.line} is ${newer.why}.`,
        hint: 'Nothing was sent. Use that version of partnerctl.',
      });
    },
  };
}
