import { isJsonObject } from '../contract/json.ts';
import { type Problem, ProblemList, type Row, type YamlSource } from '../yaml/problem.ts';
import { parseJsonText, quoted } from '../yaml/text.ts';

/** A file of rows: manifests are read once for each. */
export interface Table {
  /** The names of variables; a row has a value for each, in this order. */
  readonly columns: readonly string[];
  /** Those without a mistake. */
  readonly rows: readonly Row[];
  /** The mistakes. Nothing may be sent while there is one. */
  readonly problems: readonly Problem[];
}

/** What a reader of a format found, and reported the rest of. */
type Content = Pick<Table, 'columns' | 'rows'>;

const CSV_MISTAKES: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened, and not closed',
  CSV_INVALID_CLOSING_QUOTE: 'a quote is closed, and the value goes on',
  INVALID_OPENING_QUOTE: 'a quote stands within a value that does not begin with one',
};

const QUOTES_HINT = 'write values with commas, quotes, or line breaks as "…", and a quote in them as ""';

/** Reads CSV (RFC 4180), whose first row names the columns. Behind a syntax error, nothing can be read. */
async function readCsv(problems: ProblemList): Promise<Content> {
  const { CsvError, parse } = await import('csv-parse/sync');
  const { name, text } = problems;
  const rows: Row[] = [];
  let columns: readonly string[] | undefined;
  let [lines, empty] = [0, 0];
  const onRecord = (values: string[], info: { readonly lines: number; readonly empty_lines: number }): null => {
    // Without the empty lines before it.
    const line = lines + 1 + info.empty_lines - empty;
    [lines, empty] = [info.lines, info.empty_lines];
    columns ??= values;
    const count = `${values.length} ${values.length === 1 ? 'value' : 'values'}`;
    if (values.length !== columns.length) {
      const wanted = `${name}:1 has ${columns.length}: ${quoted(columns.join(', '))}`;
      problems.add(problems.startOf(line), `this row has ${count}, and ${wanted}`);
    } else if (columns !== values) rows.push({ place: `${name}:${line}`, values });
    return null;
  };
  try {
    const options = { relax_column_count: true, skip_empty_lines: true, record_delimiter: '\n' };
    parse(text, { ...options, on_record: onRecord });
  } catch (error) {
    const mistake = error instanceof CsvError ? CSV_MISTAKES[error.code] : undefined;
    if (mistake === undefined) throw error;
    problems.add(problems.startOf(lines + 1), `invalid CSV: ${mistake}`, QUOTES_HINT);
  }
  return { columns: columns ?? [], rows };
}

/** Reads a JSON object of texts per line. The keys of the first one are the columns. */
function readNdjson(problems: ProblemList): Content {
  const rows: Row[] = [];
  let columns: readonly string[] = [];
  for (const [index, line] of problems.text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const parsed = parseJsonText(line);
    const row = 'value' in parsed && isJsonObject(parsed.value) ? parsed.value : {};
    const keys = Object.keys(row);
    if (columns.length === 0) columns = keys;
    const values = columns.map((column) => row[column]).filter((value) => typeof value === 'string');
    const isRow = keys.length > 0 && keys.length === columns.length && keys.length === values.length;
    const wanted = `a row must be a JSON object of texts with the keys of the first one: ${quoted(columns.join(', '))}`;
    if (isRow) rows.push({ place: `${problems.name}:${index + 1}`, values });
    else problems.add(problems.startOf(index + 1), 'message' in parsed ? parsed.message : wanted);
  }
  return { columns, rows };
}

/**
 * Reads a file of rows: NDJSON if its name ends in `.ndjson`, and CSV otherwise. Values are texts. Line breaks in CSV
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
  return { columns, rows, problems: problems.sorted() };
}
