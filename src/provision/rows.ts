import { isJsonObject } from '../contract/json.ts';
import { type Problem, ProblemList, type Row, type YamlSource } from '../yaml/problem.ts';
import { parseJsonText, quoted } from '../yaml/text.ts';

/** A file of rows: one manifest, or set of manifests, is made with each. */
export interface Table {
  readonly rows: readonly Row[];
  /** The columns, which have the names of variables. */
  readonly columns: readonly string[];
  /** The mistakes in rows, which are then not in `rows`. Nothing may be sent while there is one. */
  readonly problems: readonly Problem[];
}

/** A row as it was read, from the line that it starts on. */
interface RawRow {
  readonly line: number;
  readonly fields: readonly (readonly [column: string, value: unknown])[];
}

const CSV_MISTAKES: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened, and not closed',
  CSV_INVALID_CLOSING_QUOTE: 'a quote is closed, and the value goes on',
  INVALID_OPENING_QUOTE: 'a quote stands within a value that does not begin with one',
};

const QUOTES_HINT = 'write values with commas, quotes, or line breaks as "…", and a quote in them as ""';

/** Reads CSV (RFC 4180). A first row names the columns. Reports a syntax error, behind which nothing can be read. */
async function readCsv(problems: ProblemList): Promise<{ columns: readonly string[]; rows: readonly RawRow[] }> {
  const { CsvError, parse } = await import('csv-parse/sync');
  const rows: { readonly line: number; readonly values: readonly string[] }[] = [];
  let [lines, empty] = [0, 0];
  try {
    parse(problems.text, {
      ...{ relax_column_count: true, skip_empty_lines: true, record_delimiter: '\n' },
      on_record(values: string[], info) {
        rows.push({ line: lines + 1 + info.empty_lines - empty, values });
        [lines, empty] = [info.lines, info.empty_lines];
        return null;
      },
    });
  } catch (error) {
    const mistake = error instanceof CsvError ? CSV_MISTAKES[error.code] : undefined;
    if (mistake === undefined) throw error;
    problems.add(problems.startOf(lines + 1), `invalid CSV: ${mistake}`, QUOTES_HINT);
  }
  const [header, ...others] = rows;
  const columns = header?.values ?? [];
  const fieldsOf = (values: readonly string[]) => values.map((value, index) => [columns[index] ?? '', value] as const);
  return { columns, rows: others.map(({ line, values }) => ({ line, fields: fieldsOf(values) })) };
}

/** Reads a JSON object per line. The keys of the first one are the columns. */
function readNdjson(problems: ProblemList): { columns: readonly string[]; rows: readonly RawRow[] } {
  const rows = problems.text.split('\n').flatMap((text, index): RawRow[] => {
    if (text.trim() === '') return [];
    const line = index + 1;
    const parsed = parseJsonText(text);
    if ('value' in parsed && isJsonObject(parsed.value)) return [{ line, fields: Object.entries(parsed.value) }];
    problems.add(problems.startOf(line), 'message' in parsed ? parsed.message : 'a row must be a JSON object');
    return [];
  });
  return { columns: rows[0]?.fields.map(([column]) => column) ?? [], rows };
}

/** Checks that a row has a text for each column. @returns nothing after a problem */
function checkRow({ line, fields }: RawRow, columns: readonly string[], problems: ProblemList): Row[] {
  const [at, before] = [problems.startOf(line), problems.size];
  const values = new Map<string, string>();
  for (const [column, value] of fields) {
    if (typeof value === 'string') values.set(column, value);
    else problems.add(at, `${quoted(column)} must be text, not ${JSON.stringify(value)}`, 'put quotes around it');
  }
  const names = fields.map(([column]) => column);
  const missing = columns.find((column) => !names.includes(column));
  if (fields.length !== columns.length) {
    const count = `${fields.length} ${fields.length === 1 ? 'value' : 'values'}`;
    const wanted = `${problems.name}:1 has ${columns.length}: ${quoted(columns.join(', '))}`;
    problems.add(at, `this row has ${count}, and ${wanted}`);
  } else if (missing !== undefined)
    problems.add(at, `this row has no ${quoted(missing)}, and ${problems.name}:1 has it`);
  return problems.size === before ? [{ place: `${problems.name}:${line}`, values }] : [];
}

/**
 * Reads a file of rows: NDJSON if its name ends in `.ndjson`, and CSV otherwise. Values are texts. Line breaks in them
 * become line feeds, as in YAML.
 */
export async function parseRows({ name, text }: YamlSource): Promise<Table> {
  const problems = new ProblemList({ name, text: text.replaceAll(/\r\n?/g, '\n') });
  const { columns, rows } = name.endsWith('.ndjson') ? readNdjson(problems) : await readCsv(problems);
  const twice = columns.find((column, index) => column !== '' && columns.indexOf(column) !== index);
  if (twice !== undefined) problems.add(problems.startOf(1), `the column ${quoted(twice)} is there twice`);
  else if (rows.length === 0 && problems.size === 0) {
    const hint = 'in CSV, the first line names the columns, and each other line is a row';
    problems.add(problems.startOf(1), 'this table has no row', hint);
  }
  const checked = rows.flatMap((row) => checkRow(row, columns, problems));
  return { rows: checked, columns, problems: problems.sorted() };
}
