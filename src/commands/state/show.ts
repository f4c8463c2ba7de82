import { Option } from '@commander-js/extra-typings';
import { deferred, defineCommand } from '../../cli/command.ts';
import type { Context } from '../../cli/context.ts';
import { duration, SPACE_HELP } from '../../cli/options.ts';
import { STATE_EXITS } from '../../errors.ts';
import { type Column, listResult } from '../../output/command-result.ts';
import type { LogContent } from '../../state/log.ts';
import type { LogRecord } from '../../state/record.ts';

type NumberedRecord = LogContent['records'][number] & { readonly number: number };

const DESCRIBING_FIELDS = [
  'id',
  'name',
  'agent_id',
  'external_space_id',
  'space_id',
  'filename',
  'key',
  'commit',
  'plan',
];

function describeRecord(record: LogRecord): string {
  const { object, data, by } = record;
  const all: Readonly<Record<string, unknown>> = { ...Object(by), ...record, ...Object(data), id: object };
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

/** Selects what is about a space. Only a name needs the service. @throws as `findSpace` */
async function selectSpace(
  context: Context,
  records: readonly NumberedRecord[],
  typed: string,
): Promise<readonly NumberedRecord[]> {
  const { findSpace, parseReference } = await import('../../api/references.ts');
  const { recordsOfSpace } = await import('../../state/space-record.ts');
  const reference = parseReference(typed);
  const { by, value } = reference;
  const id = by === 'name' ? (await findSpace(await context.http(), reference)).space_id : value;
  const all = records.map(({ record }) => record);
  const about = new Set(recordsOfSpace(all, by === 'external_space_id' ? by : 'space_id', id));
  return records.filter(({ record }) => about.has(record));
}

export const show = () =>
  defineCommand('show', 'Show the records of the state', {
    description: 'A line that a merge repeated is shown once. Warns about lines that cannot be used.',
    exits: [...STATE_EXITS, 'notFound'],
    json: '[{number, line, type, at, by?, object?, data?, …}]',
    examples: [
      'partnerctl state show  # every record',
      'partnerctl state show --kind upload --since 1d  # the uploads of the last day',
      'partnerctl state show --space ext:acme-001 --since 7d --kind cron -o json  # what was done with the jobs of a customer, and by whom',
    ],
  })
    .option('--space <space>', `only what is about a space and the jobs of its agents: ${SPACE_HELP}`)
    .option('--since <duration>', 'only records of the last days or hours, such as 7d', duration)
    .addOption(new Option('--kind <kind>', 'only records of this kind').choices(['space', 'cron', 'upload']))
    .action(
      deferred(async (context, { space, since, kind }) => {
        const log = await context.log();
        const { exists, records, damaged } = await log.inspect();
        for (const line of damaged) await context.warn(log.describe(line));
        const numbered = records.map((record, index) => ({ ...record, number: index + 1 }));
        const about = space === undefined ? numbered : await selectSpace(context, numbered, space);
        const shown = about.filter(
          ({ record: { type, at } }) =>
            (kind === undefined || type.split('.')[0] === kind) &&
            (since === undefined || Date.parse(at) >= context.clock.now() - since),
        );
        const none = exists ? 'The state has no record.' : `There is no state yet: ${log.label}`;
        return listResult(shown, COLUMNS, {
          empty: records.length > 0 ? 'No record matches.' : none,
          json: ({ number, line, record }) => ({ number, line, ...record }),
        });
      }),
    );
