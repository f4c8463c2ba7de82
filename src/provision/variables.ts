import * as v from 'valibot';
import { parseBaseUrl } from '../config/base-url.ts';
import { resolveBaseUrl } from '../config/settings.ts';
import type { CronContext } from '../cron/context.ts';
import { UsageError } from '../errors.ts';
import { readYaml } from '../yaml/check.ts';
import type { Lookup } from '../yaml/interpolate.ts';
import { problemsError } from '../yaml/problem.ts';
import { readSource } from '../yaml/sources.ts';
import { parseRows, type Table } from './rows.ts';

export type VariablesContext = Pick<CronContext, 'flags' | 'env' | 'config' | 'io' | 'abortSignal' | 'warn'>;

/** The options that give variables their values. */
export interface VariableOptions {
  readonly var: readonly string[];
  readonly varFile?: string | undefined;
  readonly rows?: string | undefined;
}

/** The values of variables: those of --var, else of the row, else of --var-file, else of the environment. */
export interface Variables {
  readonly lookup: Lookup;
  /** The rows of --rows. */
  readonly table: Table | undefined;
  /** What --var-file and --rows name, by file, and how messages call it. */
  readonly named: readonly { readonly what: string; readonly names: readonly string[] }[];
  /** The names that were looked up so far. */
  readonly used: ReadonlySet<string>;
}

/** Parses the values of --var. @throws UsageError for one without a name or a value, or a name that is given twice */
function parseVariables(texts: readonly string[]): ReadonlyMap<string, string> {
  const variables = new Map<string, string>();
  for (const text of texts) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw new UsageError(`--var takes NAME=value, not ${JSON.stringify(text)}.`);
    }
    if (value === '') {
      throw new UsageError(`--var ${name} is empty. Check the shell variable it comes from.`, {
        hint: `If it may be empty, write \${${name}:-} in the manifest, and leave the option out.`,
      });
    }
    if (variables.has(name)) throw new UsageError(`--var ${name} is given twice.`, { hint: 'Give it once.' });
    variables.set(name, value);
  }
  return variables;
}

/** The key of a file of variables that is none. */
const SERVICE = 'service';

const OTHER = { key: 'external_space_id', hint: 'a manifest is an argument, and no value of --var-file' };

/** Reads the file of --var-file: a mapping of names to texts. @throws InputError; UsageError if it is for another service */
async function readVariableFile(context: VariablesContext, path: string): Promise<ReadonlyMap<string, string>> {
  const { env, io, abortSignal } = context;
  const source = await readSource(path, io.stdin, abortSignal);
  const { documents, problems } = readYaml([source], {
    schema: v.record(v.string(), v.string()),
    lookup: (name) => env[name] || undefined,
    other: OTHER,
    review: () => undefined,
  });
  if (problems.length > 0) throw problemsError(problems);
  const values = new Map(documents.flatMap(({ value }) => Object.entries(value)));
  const service = values.get(SERVICE);
  values.delete(SERVICE);
  const wanted = service === undefined ? undefined : parseBaseUrl(service, source.name);
  const used = resolveBaseUrl(context)?.value;
  if (wanted !== undefined && used !== undefined && wanted !== used) {
    throw new UsageError(`The variables in ${source.name} are for ${wanted}, not for ${used}.`, {
      hint: 'Select the profile of that service, or give another --var-file. Nothing was sent.',
    });
  }
  return values;
}

/**
 * Reads the values of variables.
 * @throws UsageError for --var, or for a file that is for another service; InputError for mistakes in the file of
 *   --var-file, or for a file that cannot be read
 */
export async function readVariables(
  context: VariablesContext,
  { var: texts, varFile, rows }: VariableOptions,
): Promise<Variables> {
  const given = parseVariables(texts);
  const file = varFile === undefined ? undefined : await readVariableFile(context, varFile);
  const table =
    rows === undefined ? undefined : await parseRows(await readSource(rows, context.io.stdin, context.abortSignal));
  const columns = new Map(table?.columns.map((column, index) => [column, index]));
  const used = new Set<string>();
  return {
    lookup(name, row) {
      used.add(name);
      const own = given.get(name) ?? row?.values[columns.get(name) ?? -1] ?? file?.get(name);
      // An empty variable of the environment counts as unset: in an external_space_id it would name another customer.
      return own ?? (context.env[name] || undefined);
    },
    table,
    named: [
      ...(file ? [{ what: `variables in ${varFile}`, names: [...file.keys()] }] : []),
      ...(table ? [{ what: `columns of ${rows}`, names: table.columns.filter(Boolean) }] : []),
    ],
    used,
  };
}

/** Warns once for each file of what no manifest has used: a name that was mistyped, probably. */
export async function warnOfUnused({ named, used }: Variables, warn: VariablesContext['warn']): Promise<void> {
  for (const { what, names } of named) {
    const unused = names.filter((name) => !used.has(name));
    if (unused.length > 0) await warn(`No manifest uses these ${what}: ${unused.join(', ')}`);
  }
}
