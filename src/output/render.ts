import { UsageError } from '../errors.ts';
import type { ClosableSink, Sink } from '../platform/io.ts';
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
import { writeJson, writeNdjson } from './formats/json.ts';
import type { WrittenTable } from './formats/table.ts';
import { writeTsv } from './formats/tsv.ts';
import { sanitizeText } from './sanitize.ts';

export interface RenderOptions {
  readonly format: OutputFormat;
  /** Whether the user chose the format. By default, a pipe gets rows, but a report as a terminal shows it. */
  readonly isFormatChosen?: boolean;
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
  /** Opens a sink for a table that may be longer than the terminal. */
  readonly openPager?: (() => Promise<ClosableSink>) | undefined;
}

function isForPeople({ format }: RenderOptions): boolean {
  return format === 'table' || format === 'tsv';
}

async function writeNotice(text: string, io: RenderIo): Promise<void> {
  if (text === '') return;
  const { isTTY, columns } = io.stderr;
  const sanitized = sanitizeText(text);
  const lines = isTTY ? (await import('./wrap.ts')).wrapText(sanitized, columns, '  ') : sanitized;
  await io.stderr.write(`${lines}\n`);
}

/** Writes a report, a table, or labeled lines. */
async function writeForPeople(
  result: ListResult | ObjectResult,
  out: Sink,
  { color, wide, now }: RenderOptions,
  redact: RenderIo['redact'],
): Promise<WrittenTable> {
  // Load tables, reports, YAML, and queries on demand, so that scripts start fast.
  if (result.kind === 'list' && result.report) {
    const { writeReport } = await import('./formats/report.ts');
    return { hasContent: await writeReport(result, out, { color, redact }), cut: '' };
  }
  const { writeTable } = await import('./formats/table.ts');
  return writeTable(result, out, { color, wide, now, redact });
}

async function renderTable(result: ListResult | ObjectResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const pager = result.kind === 'list' ? await io.openPager?.() : undefined;
  let written: WrittenTable;
  try {
    written = await writeForPeople(result, pager ?? io.stdout, options, io.redact);
  } finally {
    await pager?.close();
  }
  if (result.kind === 'object' || options.quiet) return;
  if (!written.hasContent) await writeNotice(result.empty, io);
  if (io.stderr.isTTY) await writeNotice(written.cut, io);
  if (result.summary && !result.report) await writeNotice(result.summary(), io);
}

/** Wraps the text of an object if the sink is a terminal. */
async function fitText({ isWrapped }: ObjectResult, text: string, { isTTY, columns }: Sink): Promise<string> {
  return isWrapped && isTTY ? (await import('./wrap.ts')).wrapText(text, columns, '  ') : text;
}

async function renderData(result: ListResult | ObjectResult, options: RenderOptions, io: RenderIo): Promise<void> {
  if (isForPeople(options) && result.kind === 'object' && result.text !== undefined) {
    if (result.text !== '') await io.stdout.write(await fitText(result, result.text, io.stdout));
    return;
  }
  if (isForPeople(options) && result.kind === 'list' && result.asJson) {
    const { writeItems } = await import('./formats/body.ts');
    return writeItems(result, io.stdout);
  }
  switch (options.format) {
    case 'json':
      return writeJson(result, io.stdout);
    case 'ndjson':
      return writeNdjson(result, io.stdout);
    case 'tsv':
      if (result.kind === 'list' && result.report && options.isFormatChosen === false) {
        return renderTable(result, options, io);
      }
      return writeTsv(result, io.stdout);
    case 'yaml': {
      const { writeYaml } = await import('./formats/yaml.ts');
      return writeYaml(result, io.stdout);
    }
    case 'table':
      return renderTable(result, options, io);
  }
}

/** Writes a body: for people as `writeBody` does, for scripts and queries in its JSON form. */
async function renderBody(result: BodyResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { writeBody, bodyToJson } = await import('./formats/body.ts');
  if (isForPeople(options) && options.query === undefined) {
    await writeBody(result, io.stdout, io.redact);
    const isLineOpen = !io.stdout.isTTY && result.bytes.length > 0 && result.bytes.at(-1) !== 0x0a;
    // A pipe may lead to the same terminal (`| cat`). Begin the error on a line of its own.
    if (result.failure && isLineOpen && io.stderr.isTTY) await io.stderr.write('\n');
    return;
  }
  const json = bodyToJson(result);
  if (options.query !== undefined) {
    // A query is for the body of a success. A failure is only reported as an error.
    return result.failure ? undefined : renderQuery(options.query, objectResult(json, []), options, io);
  }
  const { toScriptResult } = await import('./query.ts');
  return renderData(toScriptResult(json), options, io);
}

async function renderQuery(
  query: string,
  result: ListResult | ObjectResult,
  options: RenderOptions,
  io: RenderIo,
): Promise<void> {
  const { compileQuery, toJsonForm, toHumanResult, toScriptResult } = await import('./query.ts');
  const select = await compileQuery(query);
  const json = await toJsonForm(result);
  const selected = select(json, failureOf(result));
  const queried = isForPeople(options) ? toHumanResult(selected) : toScriptResult(selected);
  await render(queried, { ...options, query: undefined }, io);
}

async function renderStream(result: StreamResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const formatEvent = await createEventFormatter(options.format, options.color, io.stdout);
  if (options.query === undefined) {
    if (result.screens && options.format === 'table' && io.stdout.isTTY) {
      const { writeScreens } = await import('./live-screen.ts');
      return writeScreens(result.screens, io.stdout, { ...options, redact: io.redact });
    }
    for await (const event of result.events) await io.stdout.write(formatEvent(event));
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
    case 'body':
      return renderBody(result, options, io);
    case 'stream':
      return renderStream(result, options, io);
    default:
      return query === undefined ? renderData(result, options, io) : renderQuery(query, result, options, io);
  }
}
