import { command } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { type Column, listResult } from '../../output/command-result.ts';
import { readLog, unusableLine } from '../../state/log.ts';
import type { LogRecord } from '../../state/record.ts';
import { findStateFile } from '../../state/state-file.ts';

interface Shown {
  readonly line: number;
  readonly record: LogRecord;
}

interface Filter {
  readonly type: string | undefined;
  readonly key: string | undefined;
}

/** Beyond these, lines that cannot be used are only counted. */
const MOST_WARNINGS = 20;

/** What people look for in a record, in the order in which it is shown. */
const TELLING = [
  'key',
  'name',
  'agent_id',
  'cron_job_id',
  'external_space_id',
  'space_id',
  'source_id',
  'session_id',
  'message_id',
  'document_id',
  'file_attachment_id',
  'filename',
  'upload_id',
];

function about(record: LogRecord): string {
  return TELLING.flatMap((field) => {
    const value = record[field];
    return typeof value === 'string' && value !== '' ? [`${field}=${value}`] : [];
  }).join(' ');
}

const COLUMNS: readonly Column<Shown>[] = [
  { header: 'LINE', value: ({ line }) => line, noTruncate: true },
  { header: 'AT', value: ({ record }) => record.at, tone: () => 'dim' },
  { header: 'TYPE', value: ({ record }) => record.type },
  { header: 'ABOUT', value: ({ record }) => about(record) },
];

/** The records that are asked for. Lines that cannot be used are warned of as they come, whatever is asked for. */
async function* recordsOf(path: string, { type, key }: Filter, context: Context): AsyncGenerator<Shown> {
  let unusable = 0;
  // Not read by search: it would pass over damage in the lines that it skips.
  for await (const entry of readLog(path)) {
    const trouble = unusableLine(entry);
    if (trouble && unusable < MOST_WARNINGS) {
      await context.warn(`${path}:${trouble.line} is left out: ${trouble.why}`);
    }
    if (trouble) unusable += 1;
    if (entry.kind !== 'record') continue;
    const { line, record } = entry;
    const isWanted =
      (type === undefined || record.type === type || record.type.startsWith(`${type}.`)) &&
      (key === undefined || record.key === key);
    if (isWanted) yield { line, record };
  }
  if (unusable > MOST_WARNINGS) {
    await context.warn(
      `${unusable - MOST_WARNINGS} more lines are left out; \`partnerctl state verify\` names them all.`,
    );
  }
}

export default command({
  description:
    'Shows the records of the state file that count, in their order: each record once, however often a merge repeats its line. Lines that cannot be used are warned of.',
  flags: [
    { usage: '--type <type>', description: 'only records of this type, such as space, cron, upload or upload.done' },
    { usage: '--key <key>', description: 'only records of this key' },
  ],
  examples: [
    { line: 'partnerctl state show', does: 'every record, a line each' },
    { line: 'partnerctl state show --type space -o json', does: 'the spaces that were provisioned, with every field' },
  ],
  parse: ({ value }) => ({ type: value('type'), key: value('key') }),
  async run(context, filter) {
    const path = await context.statePath();
    const exists = (await findStateFile(path)) !== undefined;
    return listResult(recordsOf(path, filter, context), COLUMNS, {
      empty: exists ? 'There is no such record in the state file.' : `There is no state file yet: ${path}`,
      json: ({ line, record }) => ({ line, ...record }),
    });
  },
});
