import type { GlobalFlags } from '../config/global-flags.ts';
import { UsageError } from '../errors.ts';
import type { Arrangement } from '../output/arrange.ts';
import type { OutputFormat } from '../output/command-result.ts';
import type { ParsedCommand } from './parse.ts';

/** The name by which people choose a column: `next-run` for `NEXT RUN`. */
export function columnName(header: string): string {
  return header.toLowerCase().replaceAll(' ', '-');
}

/** The headers of a command's columns by column name. Leaves out columns without a header, which cannot be named. */
function namedColumns(command: ParsedCommand['command']): ReadonlyMap<string, string> {
  const headers = command.columns.map(({ header }) => header).filter((header) => header !== '');
  return new Map(headers.map((header) => [columnName(header), header]));
}

/** @throws UsageError for an unknown name */
async function findHeader(typed: string, flag: string, columns: ReadonlyMap<string, string>): Promise<string> {
  const wanted = typed.trim().replaceAll('_', ' ');
  const header = columns.get(columnName(wanted));
  if (header !== undefined) return header;
  if (wanted === '')
    throw new UsageError(`--${flag} names no column.`, { hint: 'Check the shell variable it comes from.' });
  const { suggest } = await import('../yaml/suggest.ts');
  const names = [...columns.keys()];
  const near = suggest(typed, names);
  throw new UsageError(`--${flag}: there is no column ${JSON.stringify(typed)}.`, {
    hint: `${near === undefined ? '' : `Did you mean ${near}? `}The columns are: ${names.join(', ')}.`,
  });
}

interface TableUse {
  /** The flag that makes the command print something other than a table. */
  readonly noTableFlag: string | undefined;
  readonly format: OutputFormat;
}

/** @throws UsageError if --columns or --sort (`flag`) would have no effect */
function refuseWithoutTable(
  flag: string,
  { command, commandPath }: ParsedCommand,
  { noTableFlag, format }: TableUse,
  hasQuery: boolean,
): void {
  if (command.columns.length === 0 || noTableFlag !== undefined) {
    const typed = noTableFlag === undefined ? commandPath : `${commandPath} ${noTableFlag}`;
    throw new UsageError(`\`${typed}\` prints no table: omit --${flag}.`);
  }
  if (hasQuery) {
    throw new UsageError(`--${flag} and --query cannot be combined.`, {
      hint: 'The query can select and sort fields.',
    });
  }
  if (format !== 'table' && format !== 'tsv') {
    throw new UsageError(`--${flag} applies to the formats table and tsv, not ${format}.`, {
      hint: 'Select or sort fields with --query.',
    });
  }
}

/**
 * Parses --columns and --sort. Call it before the command runs.
 * @throws UsageError for an unknown column, or if the flags would have no effect
 */
export async function parseArrangement(
  parsed: ParsedCommand,
  { columns: columnsText, sort: sortText, query }: GlobalFlags,
  use: TableUse,
): Promise<Arrangement> {
  const columns = namedColumns(parsed.command);
  const flags = { columns: columnsText, sort: sortText };
  for (const [flag, text] of Object.entries(flags)) {
    if (text !== undefined) refuseWithoutTable(flag, parsed, use, query !== undefined);
  }
  const typed = columnsText?.split(',');
  return {
    columns: typed && (await Promise.all(typed.map((name) => findHeader(name, 'columns', columns)))),
    sort:
      sortText === undefined
        ? undefined
        : {
            header: await findHeader(sortText.replace(/^-/, ''), 'sort', columns),
            isDescending: sortText.startsWith('-'),
          },
  };
}
