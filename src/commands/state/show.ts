import { command, STATE_EXITS } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { UsageError } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';
import type { LogRecord } from '../../state/record.ts';
import { readStore, type StateStore } from '../../state/store.ts';
import { lineWarner, unusableLine } from '../../state/unusable-lines.ts';

interface NumberedRecord {
  readonly line: number;
  readonly record: LogRecord;
}

interface Filter {
  readonly type: string | undefined;
  readonly key: string | undefined;
}

/** How many unusable lines to warn about; further ones are only counted. */
const MAX_WARNINGS = 20;

/** The fields that tell what a record is about, in display order. */
const DESCRIBING_FIELDS = [
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
  'key',
];

function describeRecord(record: LogRecord): string {
  const fields = DESCRIBING_FIELDS.flatMap((field) => {
    const value = record[field];
    return typeof value === 'string' && value !== '' ? [`${field}=${value}`] : [];
  });
  return [...fields, ...(Array.isArray(record.rows) ? [`rows=${record.rows.length}`] : [])].join(' ');
}

const COLUMNS: readonly Column<NumberedRecord>[] = [
  { header: 'LINE', value: ({ line }) => line },
  { header: 'AT', value: ({ record }) => record.at, tone: () => 'dim', isTime: true },
  { header: 'TYPE', value: ({ record }) => record.type },
  { header: 'ABOUT', value: ({ record }) => describeRecord(record), fit: 'below' },
];

/** All types of records that this version writes. */
async function knownTypes(): Promise<readonly string[]> {
  const [spaces, jobs, uploads] = await Promise.all([
    import('../../provision/space-records.ts'),
    import('../../cron/job-records.ts'),
    import('../../upload/upload-records.ts'),
  ]);
  const formats = [spaces.SPACE_RECORDS, jobs.JOB_RECORDS, uploads.UPLOAD_RECORDS];
  return formats.flatMap(({ types }) => Object.values(types));
}

/** @throws UsageError if no record can have the type. @param seen the types in the state, which a later version may write */
async function checkType(type: string, seen: ReadonlySet<string>): Promise<void> {
  const types = [...(await knownTypes()), ...seen];
  const choices = [...new Set([...types.map((known) => known.split('.')[0] ?? known), ...types])];
  if (choices.includes(type)) return;
  const { suggest } = await import('../../yaml/suggest.ts');
  const near = suggest(type, choices);
  throw new UsageError(`No record has the type ${JSON.stringify(type)}.`, {
    hint: near === undefined ? `Use one of: ${choices.join(', ')}.` : `Did you mean ${near}?`,
  });
}

/**
 * Yields the records that match the filter. Warns about unusable lines, regardless of the filter.
 * @throws UsageError for a type that no record can have
 */
async function* readRecords(
  store: StateStore,
  { type, key }: Filter,
  context: Context,
): AsyncGenerator<NumberedRecord> {
  const warn = lineWarner(store.label, (text) => context.warn(text));
  const types = new Set<string>();
  let unusable = 0;
  // Read every line: a search would not notice damage in the lines it skips.
  for await (const entry of readStore(store)) {
    const problem = unusableLine(entry);
    if (problem && unusable < MAX_WARNINGS) await warn(problem);
    if (problem) unusable += 1;
    if (entry.kind !== 'record') continue;
    const { line, record } = entry;
    types.add(record.type);
    const isWanted =
      (type === undefined || record.type === type || record.type.startsWith(`${type}.`)) &&
      (key === undefined || record.key === key);
    if (isWanted) yield { line, record };
  }
  if (type !== undefined) await checkType(type, types);
  if (unusable > MAX_WARNINGS) {
    await context.warn(
      `${unusable - MAX_WARNINGS} more lines are ignored; \`partnerctl state verify\` names them all.`,
    );
  }
}

export default command({
  description:
    'Shows the records of the state in order. Shows lines that a merge repeated only once, and warns about lines that cannot be used.',
  flags: [
    {
      usage: '--type <type>',
      description: 'only records of this type, such as space, cron, message, upload, or upload.done',
    },
    { usage: '--key <key>', description: 'only records of this key' },
  ],
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/state.ts')).STATE_SHOW,
  exits: STATE_EXITS,
  examples: [
    { line: 'partnerctl state show', does: 'every record' },
    { line: 'partnerctl state show --type space -o json', does: 'the spaces that were provisioned, with every field' },
  ],
  parse: ({ value, nonEmpty }) => ({ type: value('type'), key: nonEmpty('key') }),
  async run(context, filter) {
    const store = await context.stateStore();
    const exists = await store.exists();
    return listResult(readRecords(store, filter, context), COLUMNS, {
      empty: exists ? 'The state has no such record.' : `There is no state yet: ${store.label}`,
      json: ({ line, record }) => ({ line, ...record }),
    });
  },
});
