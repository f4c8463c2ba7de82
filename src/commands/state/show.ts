import { leaf, run, STATE_EXITS } from '../../cli/leaf.ts';
import { type Column, listResult } from '../../output/command-result.ts';
import type { LogContent } from '../../state/log.ts';
import type { LogRecord } from '../../state/record.ts';

type NumberedRecord = LogContent['records'][number] & { readonly number: number };

const DESCRIBING_FIELDS = ['id', 'name', 'agent_id', 'external_space_id', 'space_id', 'filename', 'key'];

function describeRecord(record: LogRecord): string {
  const { object, data } = record;
  const all: Readonly<Record<string, unknown>> = { ...record, ...Object(data), id: object };
  const shown = DESCRIBING_FIELDS.filter((field) => typeof all[field] === 'string');
  return shown.map((field) => `${field}=${all[field]}`).join(' ');
}

function describeAuthor({ by }: LogRecord): string {
  const { run: ciRun, user, host }: Readonly<Record<string, unknown>> = Object(by);
  if (typeof ciRun === 'string') return ciRun;
  return [user, host].filter((part) => typeof part === 'string').join('@');
}

const COLUMNS: readonly Column<NumberedRecord>[] = [
  { header: 'NO', value: ({ number }) => number },
  { header: 'AT', value: ({ record }) => record.at, tone: () => 'dim', isTime: true },
  { header: 'TYPE', value: ({ record }) => record.type },
  { header: 'BY', value: ({ record }) => describeAuthor(record), isOptional: true },
  { header: 'ABOUT', value: ({ record }) => describeRecord(record), isNote: true },
];

export const show = () =>
  leaf('show', 'Show the records of the state', {
    description: 'A line that a merge repeated is shown once. Warns about lines that cannot be used.',
    exits: [...STATE_EXITS, 'notFound'],
    examples: ['partnerctl state show  # every record', 'partnerctl state show -o json  # with every field'],
  }).action(
    run(async (context) => {
      const log = await context.log();
      const { exists, records, damaged } = await log.inspect();
      for (const line of damaged) await context.warn(log.describe(line));
      const numbered = records.map((record, index) => ({ ...record, number: index + 1 }));
      return listResult(numbered, COLUMNS, {
        empty: exists ? 'The state has no record.' : `There is no state yet: ${log.label}`,
        json: ({ number, line, record }) => ({ number, line, ...record }),
      });
    }),
  );
