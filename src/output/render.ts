import { UsageError } from '../errors.ts';
import type { Sink } from '../platform/io.ts';
import {
  type BodyResult,
  type CommandResult,
  failureOf,
  type ListResult,
  type ObjectResult,
  type OutputFormat,
  objectResult,
  type StreamResult,
} from './command-result.ts';
import { createEventFormatter } from './formats/events.ts';
import { jsonLine, writeJson } from './formats/json.ts';
import { toJsonForm, tsvRow, writeLines } from './formats/rows.ts';
import { sanitizeText } from './sanitize.ts';

export interface RenderOptions {
  /** `auto` is `table` in a terminal; elsewhere it is `tsv` for lists and streams, and the text of a terminal for the rest. */
  readonly format: OutputFormat | 'auto';
  /** A JMESPath expression to apply to the result's JSON form. Its output replaces the result. */
  readonly query?: string | undefined;
  readonly color: boolean;
  readonly quiet: boolean;
  /** Whether tables shorten nothing. */
  readonly wide?: boolean;
  /** The current time, in milliseconds since the epoch. Tables in a terminal show times relative to it. */
  readonly now?: number;
}

export interface RenderIo {
  readonly stdout: Sink;
  readonly stderr: Sink;
  /** Redacts secrets. The sinks also redact, but cannot recognize a secret that a table has shortened. */
  readonly redact?: (text: string) => string;
  /** Writes text that may be longer than the terminal; by default, to stdout. */
  readonly page?: ((text: string) => Promise<void>) | undefined;
}

function isForPeople({ format }: RenderOptions): boolean {
  return format === 'table' || format === 'tsv' || format === 'auto';
}

/** The format of a result. A list with a report, and what is about one thing, are the same in a pipe as in a terminal. */
function formatOf(result: CommandResult, { format }: RenderOptions, { isTTY }: Sink): OutputFormat {
  if (format !== 'auto') return format;
  const isReport = result.kind === 'object' || (result.kind === 'list' && result.report !== undefined);
  return isTTY || isReport ? 'table' : 'tsv';
}

/** Writes a notice, wrapped in a terminal. */
async function writeNotice(text: string, { stderr }: RenderIo): Promise<void> {
  if (text === '') return;
  const clean = sanitizeText(text);
  await stderr.write(`${stderr.isTTY ? (await import('./wrap.ts')).wrapText(clean, stderr.columns, '  ') : clean}\n`);
}

/** Writes a list or an object as text. Its modules load on demand, so that scripts start fast. */
async function renderText(result: ListResult | ObjectResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { stdout, stderr, redact, page = stdout.write } = io;
  const { color, wide: isWide, quiet } = options;
  const screenWidth = stdout.isTTY ? stdout.columns : Number.POSITIVE_INFINITY;
  const layout = { width: isWide ? Number.POSITIVE_INFINITY : screenWidth, color, isWide, redact };
  if (result.kind === 'object') {
    const { formatObject } = await import('./table.ts');
    return stdout.write(await formatObject(result, layout));
  }
  let shown: { readonly text: string; readonly isCut?: boolean };
  if (result.report) {
    for await (const _ of result.rows);
    const { formatReport } = await import('./report.ts');
    // Never longer than the terminal is wide: --wide is for what tables shorten.
    shown = { text: await formatReport(result.report(), { ...layout, width: screenWidth }) };
  } else {
    const { formatTable } = await import('./table.ts');
    shown = await formatTable(result, { ...layout, now: Number.isFinite(layout.width) ? options.now : undefined });
  }
  if (shown.text !== '') await page(shown.text);
  if (quiet) return;
  if (shown.text === '') await writeNotice(result.empty, io);
  if (shown.isCut && stderr.isTTY) await writeNotice('Some values are shortened or left out: --wide shows them.', io);
  if (!result.report && result.summary) await writeNotice(result.summary(), io);
}

async function renderData(result: ListResult | ObjectResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { stdout } = io;
  if (isForPeople(options) && result.kind === 'object' && result.text !== undefined) {
    return stdout.write(result.text);
  }
  switch (formatOf(result, options, stdout)) {
    case 'json':
      return writeJson(result, stdout);
    case 'ndjson':
      return writeLines(result, jsonLine, stdout);
    case 'tsv':
      return writeLines(result, tsvRow, stdout);
    case 'yaml':
      return (await import('./formats/yaml.ts')).writeYaml(result, stdout);
    case 'table':
      return renderText(result, options, io);
  }
}

/** Writes a body: for people as `writeBody` does, for scripts in its JSON form. */
async function renderBody(result: BodyResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { writeBody, bodyToJson } = await import('./formats/body.ts');
  if (!isForPeople(options)) {
    const { toScriptResult } = await import('./query.ts');
    return renderData(toScriptResult(bodyToJson(result)), options, io);
  }
  await writeBody(result, io.stdout);
}

async function renderStream(result: StreamResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { stdout, redact } = io;
  const format = formatOf(result, options, stdout);
  if (result.screens && format === 'table' && stdout.isTTY) {
    const { writeScreens } = await import('./live-screen.ts');
    return writeScreens(result.screens, stdout, { color: options.color, isWide: options.wide ?? false, redact });
  }
  const formatEvent = await createEventFormatter(format, options.color, stdout);
  for await (const event of result.events) await stdout.write(formatEvent(event));
}

/** Writes what a query selects: rows and lines for people, JSON or YAML for scripts. Each event of a stream is queried. */
async function renderQuery(
  query: string,
  result: ListResult | ObjectResult | BodyResult | StreamResult,
  options: RenderOptions,
  io: RenderIo,
): Promise<void> {
  const { compileQuery, toHumanResult, toScriptResult } = await import('./query.ts');
  const select = await compileQuery(query);
  const { stdout } = io;
  const format = options.format === 'auto' ? (stdout.isTTY ? 'table' : 'tsv') : options.format;
  const selectedOptions = { ...options, format, query: undefined };
  if (result.kind === 'stream') {
    const formatEvent = await createEventFormatter(format, options.color, stdout);
    for await (const event of result.events) {
      const json = select(event.json);
      if (isForPeople(options)) await render(toHumanResult(json), selectedOptions, io);
      else await stdout.write(formatEvent({ ...event, json }));
    }
    return;
  }
  // A query is for the body of a success. A failure is only reported as an error.
  if (result.kind === 'body' && result.failure) return;
  const { bodyToJson } = await import('./formats/body.ts');
  const data = result.kind === 'body' ? objectResult(bodyToJson(result), []) : result;
  const selected = select(await toJsonForm(data), failureOf(data));
  await render(isForPeople(options) ? toHumanResult(selected) : toScriptResult(selected), selectedOptions, io);
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
  if (result.kind === 'none') return;
  if (result.kind === 'text') {
    if (query !== undefined) {
      throw new UsageError('--query needs JSON, and this command prints plain text.', { hint: 'Omit --query.' });
    }
    if (result.text !== '') await io.stdout.write(result.text);
    return;
  }
  if (query !== undefined) return renderQuery(query, result, options, io);
  if (result.kind === 'body') return renderBody(result, options, io);
  if (result.kind === 'stream') return renderStream(result, options, io);
  return renderData(result, options, io);
}
