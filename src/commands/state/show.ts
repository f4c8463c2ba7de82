import { leaf, run, STATE_EXITS } from '../../cli/leaf.ts';
import { isJsonObject } from '../../contract/json.ts';
import { UsageError } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';
import type { LogEntry } from '../../state/log.ts';
import type { LogRecord } from '../../state/record.ts';

type NumberedRecord = Extract<LogEntry, { kind: 'record' }>;

/** The fields that tell what a record is about, in display order. */
const DESCRIBING_FIELDS = ['name', 'agent_id', 'external_space_id', 'space_id', 'filename', 'key'];

function describeRecord(record: LogRecord): string {
  const { object, data } = record;
  const all = new Map(Object.entries({ ...record, ...(isJsonObject(data) && data), id: object }));
  const shown = ['id', ...DESCRIBING_FIELDS].map((field) => [field, all.get(field)] as const);
  return shown.flatMap(([field, value]) => (typeof value === 'string' ? [`${field}=${value}`] : [])).join(' ');
}

/** The CI run that wrote a record, or else the user and the machine. */
function describeAuthor({ by }: LogRecord): string {
  if (!isJsonObject(by)) return '';
  if (typeof by.run === 'string') return by.run;
  return [by.user, by.host].filter((part) => typeof part === 'string').join('@');
}

const COLUMNS: readonly Column<NumberedRecord>[] = [
  { header: 'LINE', value: ({ line }) => line },
  { header: 'AT', value: ({ record }) => record.at, tone: () => 'dim', isTime: true },
  { header: 'TYPE', value: ({ record }) => record.type },
  { header: 'BY', value: ({ record }) => describeAuthor(record), isOptional: true },
  { header: 'ABOUT', value: ({ record }) => describeRecord(record), fit: 'below' },
];

export const show = () =>
  leaf('show', 'Show the records of the state', {
    description:
      'Shows the records of the state in order, and who wrote them. Shows lines that a merge repeated only once, and warns about lines that cannot be used.',
    exits: STATE_EXITS,
    examples: [
      'partnerctl state show  # every record',
      'partnerctl state show --type space -o json  # the spaces that were provisioned, with every field',
    ],
  })
    .option('--type <type>', 'only records of this type, such as space, cron, or cron.created')
    .option('--key <key>', 'only records of this key')
    .action(
      run(async (context, { type, key }) => {
        if (type !== undefined && !/^(space|(cron|upload)(\.[a-z]+)?)$/.test(type)) {
          throw new UsageError(`No record has the type ${JSON.stringify(type)}.`, {
            hint: 'The types are space, cron, and upload, and events such as cron.created.',
          });
        }
        const { damageWarnings } = await import('../../state/log.ts');
        const log = await context.log();
        const entries = await log.inspect();
        for (const warning of damageWarnings(entries ?? [], log.label)) await context.warn(warning);
        const records = (entries ?? []).filter((entry) => entry.kind === 'record');
        const wanted = records.filter(
          ({ record }) =>
            (type === undefined || `${record.type}.`.startsWith(`${type}.`)) &&
            (key === undefined || record.key === key),
        );
        return listResult(wanted, COLUMNS, {
          empty: entries ? 'The state has no such record.' : `There is no state yet: ${log.label}`,
          json: ({ line, record }) => ({ line, ...record }),
        });
      }),
    );
