import { layoutWidth, type Sink } from '../platform/io.ts';
import {
  type CommandResult,
  FORMATS,
  type ListResult,
  type ObjectResult,
  type OutputFormat,
  type StreamResult,
} from './command-result.ts';
import { toJsonForm, writeJson } from './json.ts';
import { EVENT_FORMATTERS, jsonLine, tsvRow, writeLines } from './lines.ts';
import { sanitizeText } from './sanitize.ts';

export interface RenderOptions {
  /** `auto` is `table` in a terminal, and `tsv` elsewhere for lists and streams; see `formatOf`. */
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
}

function isForPeople(format: RenderOptions['format']): boolean {
  return format === 'auto' || FORMATS[format].isForPeople;
}

/** The format of a result. A report, and what is about one thing, are the same in a pipe as in a terminal. */
function formatOf(result: CommandResult, { format }: RenderOptions, { isTTY }: Sink): OutputFormat {
  if (result.kind === 'object' && result.report && isForPeople(format)) return 'table';
  if (format !== 'auto') return format;
  const isReport = result.kind === 'object' || (result.kind === 'list' && result.report !== undefined);
  return isTTY || isReport ? 'table' : 'tsv';
}

async function writeNotice(text: string | undefined, { stderr }: RenderIo): Promise<void> {
  if (!text) return;
  const { wrapText } = await import('./wrap.ts');
  await stderr.write(`${wrapText(sanitizeText(text), layoutWidth(stderr), '  ')}\n`);
}

/** Writes a list or an object as text. Its modules load on demand, so that scripts start fast. */
async function renderText(result: ListResult | ObjectResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { stdout, stderr, redact } = io;
  const { color, wide: isWide, quiet, now } = options;
  const width = layoutWidth(stdout);
  if (result.report) {
    if (result.kind === 'list') for await (const _ of result.rows);
    const { formatReport } = await import('./report.ts');
    const text = await formatReport(result.report(), { width, color, redact });
    return text === '' ? undefined : stdout.write(text);
  }
  const { formatObject, formatTable } = await import('./table.ts');
  const layout = { width: isWide ? Number.POSITIVE_INFINITY : width, color, isWide, redact };
  if (result.kind === 'object') return stdout.write(await formatObject(result, layout));
  const { text, isCut } = await formatTable(result, Number.isFinite(layout.width) ? { ...layout, now } : layout);
  if (text !== '') await stdout.write(text);
  if (quiet) return;
  if (text === '') await writeNotice(result.empty, io);
  if (isCut && stderr.isTTY) await writeNotice('Some values are shortened or left out: --wide shows them.', io);
  await writeNotice(result.summary?.(), io);
}

/** Writes a list or an object in a format. */
type Write = (result: ListResult | ObjectResult, options: RenderOptions, io: RenderIo) => Promise<void>;

const WRITERS: Readonly<Record<OutputFormat, Write>> = {
  table: renderText,
  json: (result, _, { stdout }) => writeJson(result, stdout),
  ndjson: (result, _, { stdout }) => writeLines(result, jsonLine, stdout),
  yaml: async (result, _, { stdout }) =>
    stdout.write((await import('./yaml.ts')).stringifyYaml(await toJsonForm(result))),
  tsv: (result, _, { stdout }) => writeLines(result, tsvRow, stdout),
};

async function renderData(result: ListResult | ObjectResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { stdout } = io;
  if (result.kind === 'object' && result.text !== undefined && isForPeople(options.format)) {
    return stdout.write(result.text);
  }
  return WRITERS[formatOf(result, options, stdout)](result, options, io);
}

async function renderStream(result: StreamResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { stdout, redact } = io;
  const format = formatOf(result, options, stdout);
  if (result.screens && FORMATS[format].isLaidOut && stdout.isTTY) {
    const { writeScreens } = await import('./live-screen.ts');
    return writeScreens(result.screens, stdout, { color: options.color, isWide: options.wide ?? false, redact });
  }
  const formatEvent = await EVENT_FORMATTERS[format](options.color, stdout);
  for await (const event of result.events) await stdout.write(formatEvent(event));
}

/**
 * Writes a result: data to stdout in the chosen format and, for tables, notices (nothing found, a summary) to stderr.
 * Reads all rows of a list in every format, and writes the events of a stream one by one.
 *
 * If reading the rows fails, tables have written nothing, JSON and YAML nothing unless the output exceeds about 4 MiB,
 * and the other formats the rows so far.
 * @throws the error of the rows; the sink's error (EPIPE: the reader is gone); as `queryResult`
 */
export async function render(result: CommandResult, options: RenderOptions, io: RenderIo): Promise<void> {
  const { query, format } = options;
  const { stdout } = io;
  if (result.kind === 'none') return;
  if (query !== undefined) {
    const { queryResult } = await import('./query.ts');
    const selected = await queryResult(query, result, isForPeople(format));
    // Rows in a pipe, even from an object: scripts read them.
    const chosen = format === 'auto' && !stdout.isTTY ? 'tsv' : format;
    return render(selected, { ...options, format: chosen, query: undefined }, io);
  }
  if (result.kind === 'stream') return renderStream(result, options, io);
  if (result.kind === 'text') return result.text === '' ? undefined : stdout.write(result.text);
  if (result.kind !== 'body') return renderData(result, options, io);
  const { writeBody, bodyToJson } = await import('./body.ts');
  if (isForPeople(format)) return writeBody(result, stdout);
  const { toScriptResult } = await import('./query.ts');
  return renderData(toScriptResult(bodyToJson(result)), options, io);
}
