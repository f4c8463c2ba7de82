import type { Sink } from '../cli/io.ts';
import { UsageError } from '../errors.ts';
import type { CommandResult, ListResult, ObjectResult, OutputFormat, StreamResult } from './command-result.ts';
import { createEventFormatter } from './formats/events.ts';
import { writeJson, writeNdjson } from './formats/json.ts';
import { writeTsv } from './formats/tsv.ts';
import { sanitizeText } from './sanitize.ts';

export interface RenderOptions {
  readonly format: OutputFormat;
  /** A JMESPath expression to apply to the result's JSON form. Its output replaces the result. */
  readonly query?: string | undefined;
  readonly color: boolean;
  readonly quiet: boolean;
}

export interface RenderIo {
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Redacts secrets. The sinks also redact, but cannot recognize a secret that a table has shortened. */
  readonly redact?: (text: string) => string;
}

function isForPeople({ format }: RenderOptions): boolean {
  return format === 'table' || format === 'tsv';
}

async function writeNotice(text: string, io: RenderIo): Promise<void> {
  if (text !== '') await io.stderr.write(`${sanitizeText(text)}\n`);
}

async function renderTable(result: ListResult | ObjectResult, options: RenderOptions, io: RenderIo): Promise<void> {
  // Load tables, reports, YAML, and queries on demand, so that scripts start fast.
  if (result.kind === 'list' && result.report) {
    const { writeReport } = await import('./formats/report.ts');
    const isEmpty = !(await writeReport(result, io.stdout, { color: options.color, redact: io.redact }));
    if (isEmpty && !options.quiet) await writeNotice(result.empty, io);
    return;
  }
  const { writeTable } = await import('./formats/table.ts');
  const hasContent = await writeTable(result, io.stdout, { color: options.color, redact: io.redact });
  if (result.kind === 'object' || options.quiet) return;
  if (!hasContent) await writeNotice(result.empty, io);
  if (result.summary) await writeNotice(result.summary(), io);
}

async function renderData(result: ListResult | ObjectResult, options: RenderOptions, io: RenderIo): Promise<void> {
  if (isForPeople(options) && result.kind === 'object' && result.text !== undefined) {
    if (result.text !== '') await io.stdout.write(result.text);
    return;
  }
  switch (options.format) {
    case 'json':
      return writeJson(result, io.stdout);
    case 'ndjson':
      return writeNdjson(result, io.stdout);
    case 'tsv':
      return writeTsv(result, io.stdout);
    case 'yaml': {
      const { writeYaml } = await import('./formats/yaml.ts');
      return writeYaml(result, io.stdout);
    }
    case 'table':
      return renderTable(result, options, io);
  }
}

async function renderQuery(
  query: string,
  result: ListResult | ObjectResult,
  options: RenderOptions,
  io: RenderIo,
): Promise<void> {
  const { compileQuery, toJsonForm, toHumanResult, toScriptResult } = await import('./query.ts');
  const select = await compileQuery(query);
  const selected = select(await toJsonForm(result));
  const shown = isForPeople(options) ? toHumanResult(selected) : toScriptResult(selected);
  await render(shown, { ...options, query: undefined }, io);
}

async function renderStream(result: StreamResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const formatEvent = await createEventFormatter(options.format, options.color);
  if (options.query === undefined) {
    let isEmpty = true;
    for await (const event of result.events) {
      isEmpty = false;
      await io.stdout.write(formatEvent(event));
    }
    if (isEmpty && options.format === 'table' && !options.quiet) await writeNotice(result.empty ?? '', io);
    return;
  }
  const { compileQuery, toHumanResult } = await import('./query.ts');
  const select = await compileQuery(options.query);
  for await (const event of result.events) {
    const json = select(event.json);
    if (isForPeople(options)) await render(toHumanResult(json), { ...options, query: undefined }, io);
    else await io.stdout.write(formatEvent({ ...event, json }));
  }
}

/**
 * Writes a result: data to stdout in the chosen format and, for tables, notices (nothing found, a summary) to stderr.
 * Reads all rows of a list in every format. Queries and writes the events of a stream one by one.
 *
 * If reading the rows fails, tables have written nothing, JSON and YAML nothing unless the output exceeds about 4 MiB,
 * and the other formats the rows so far.
 * @throws the error of the rows; the sink's error (EPIPE: the reader is gone); UsageError for a query on plain text
 */
export async function render(result: CommandResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { query } = options;
  switch (result.kind) {
    case 'none':
      return;
    case 'text':
      if (query !== undefined) {
        throw new UsageError('--query needs JSON, and this command prints plain text.', { hint: 'Omit --query.' });
      }
      if (result.text !== '') await io.stdout.write(result.text);
      return;
    case 'stream':
      return renderStream(result, options, io);
    default:
      return query === undefined ? renderData(result, options, io) : renderQuery(query, result, options, io);
  }
}
