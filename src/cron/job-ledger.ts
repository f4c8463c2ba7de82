import type { Context } from '../cli/context.ts';
import { shellCommand } from '../cli/shell-command.ts';
import type { GlobalFlags } from '../config/global-flags.ts';
import { OutcomeUnknownError } from '../errors.ts';
import { type Ledger, openLedger, otherLines } from '../state-old/ledger.ts';
import type { LineFilter } from '../state-old/line-reader.ts';
import { type ObservedRecords, observeReads } from '../state-old/store.ts';
import { type BlockingLine, lineWarner } from '../state-old/unusable-lines.ts';
import { identifyJob, type JobIdentity } from './job.ts';
import { JOB_RECORDS, type JobSnapshot } from './job-records.ts';

/** The state file's records of scheduled jobs. */
export interface JobLedger extends Ledger<JobSnapshot> {
  /**
   * Refuses a job if the part of the log that was read has a line that may be about it and cannot be used.
   * @throws OutcomeUnknownError
   */
  refuseBlocked(kind: BlockingLine['kind'], job: JobIdentity): void;
}

function newerError(where: string, { why }: BlockingLine): OutcomeUnknownError {
  return new OutcomeUnknownError('The state has a record of this job that this version cannot read.', {
    why: `${where} is ${why}.`,
    hint: 'Nothing was sent. Use that version of partnerctl.',
  });
}

function damagedError(
  where: string,
  { line, why }: BlockingLine,
  { agent_id, name }: JobIdentity,
  flags: GlobalFlags,
): OutcomeUnknownError {
  const named = ['--agent', agent_id, '--name', name];
  const adopt = shellCommand(['cron', 'adopt', '<cron_job_id>', ...named], flags);
  const forget = shellCommand(['cron', 'forget', ...named], flags);
  return new OutcomeUnknownError(`Job ${JSON.stringify(name)} of agent ${agent_id} may exist.`, {
    why: `A damaged line of the state may be its record: ${where}, ${why}.`,
    hint: `Nothing was sent. Restore the line from a copy of the file; or, if the service has the job: ${adopt}\nIf the service does not have it: ${forget}`,
    details: { line },
  });
}

/** Adds the refusals to a ledger. @param flags to repeat in the commands that hints show */
export function withRefusals(ledger: Ledger<JobSnapshot>, label: string, flags: GlobalFlags): JobLedger {
  return {
    ...ledger,
    refuseBlocked(kind, job) {
      const line = ledger.blockingLines(identifyJob(job)).find((each) => each.kind === kind);
      if (!line) return;
      const where = `${label}:${line.line}`;
      throw kind === 'newer' ? newerError(where, line) : damagedError(where, line, job, flags);
    },
  };
}

export interface JobLedgerOptions {
  /** The numbers of the lines that the user was already warned about. */
  readonly warned?: Set<number> | undefined;
  /** The keys that are going to be read: records of others are decoded only if all records are read. */
  readonly keys?: readonly string[] | undefined;
  /** Other records to read along with them. */
  readonly also?: ObservedRecords | undefined;
}

/** Opens the records of scheduled jobs in a command's state file. Warns once about each unusable line. */
export async function openJobLedger(
  context: Context,
  { warned, keys, also }: JobLedgerOptions = {},
): Promise<JobLedger> {
  const store = await context.stateStore();
  const onUnusable = lineWarner(store.label, (text) => context.warn(text), warned);
  const open = (of?: readonly string[]): Ledger<JobSnapshot> => {
    const isOther = otherLines(JOB_RECORDS, of);
    const isSkipped: LineFilter = also ? (...line) => isOther(...line) && also.isSkipped(...line) : isOther;
    const records = store.open({ isSkipped });
    const observed = also ? observeReads(records, async (entry) => also.observe(entry)) : records;
    return openLedger(observed, JOB_RECORDS, { onUnusable });
  };
  if (!keys) return withRefusals(open(), store.label, context.flags);
  let all: Ledger<JobSnapshot> | undefined;
  const some = open(keys);
  const readAll = async () => {
    all ??= open();
    return await all.readAll();
  };
  return withRefusals({ ...some, readAll }, store.label, context.flags);
}
