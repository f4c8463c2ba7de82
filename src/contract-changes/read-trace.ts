import { streamLines } from '../cli/input.ts';
import { isJsonObject, JsonLimitError, parseJson } from '../contract/json.ts';
import { type Exchange, type RecordedService, readExchange } from '../contract/learn/exchange.ts';
import { parseLinkHeader } from '../contract/link-header.ts';
import { describeFileError, InputError } from '../errors.ts';
import { parseJsonText } from '../yaml/json-text.ts';

/** Longer than any record of --debug-file. */
const MAX_LINE_MIB = 16;
/** The trace is held in memory. */
const MAX_TRACE_MIB = 64;
const MAX_EXCHANGES = 20_000;

const NOTHING_CHANGED = 'Nothing was changed.';

/** The records of a trace for one service. */
export interface Trace {
  readonly exchanges: readonly Exchange[];
  /** The other origins, with the number of records for each. */
  readonly foreign: ReadonlyMap<string, number>;
  /** The number of records without a response or outside of the base URL. */
  readonly skipped: number;
  /** The lines with a credential. */
  readonly secretLines: readonly number[];
}

/** How a trace is read. */
export interface TraceOptions {
  /** The name of the file, for messages. */
  readonly name: string;
  readonly service: RecordedService;
  /** Replaces secrets in a text. */
  readonly redact: (text: string) => string;
  /** Called with each credential in the trace, so that no output shows it. */
  readonly addSecret: (text: string) => void;
}

function lineError(name: string, line: number, column: number, why: string): InputError {
  return new InputError(`${name} is not a trace.`, {
    why: `${name}:${line}:${column}: ${why}`,
    hint: `Record one with: partnerctl <command> --debug-file <path>. ${NOTHING_CHANGED}`,
    details: { file: name, line, column },
  });
}

const SECRET_NAMES = /^(proxy-)?authorization$/i;
const REDACTED = /^(\w+\s+)?\[redacted\]$/i;

/** Returns the credentials in the headers of a record. */
function credentialsIn(record: unknown): readonly string[] {
  const headers = isJsonObject(record) && isJsonObject(record.request_headers) ? record.request_headers : {};
  return Object.entries(headers).flatMap(([name, value]) =>
    SECRET_NAMES.test(name) && typeof value === 'string' && !REDACTED.test(value) ? [value.replace(/^\w+\s+/, '')] : [],
  );
}

/** Reads the lines of one trace. */
class TraceReader {
  readonly exchanges: Exchange[] = [];
  readonly foreign = new Map<string, number>();
  readonly secretLines: number[] = [];
  skipped = 0;
  private readonly options: TraceOptions;

  constructor(options: TraceOptions) {
    this.options = options;
  }

  /** @throws InputError with line and column */
  async read(bytes: Buffer, line: number): Promise<void> {
    const { name, service, redact } = this.options;
    const text = this.decode(bytes, line);
    if (text.trim() === '') return;
    const record = this.parse(this.withoutCredentials(text, line), line);
    const read = readExchange(record, line, service, await linksOf(record));
    if (read.kind === 'invalid') throw lineError(name, line, 1, read.why);
    if (read.kind === 'foreign') {
      const origin = redact(read.origin).slice(0, 200);
      this.foreign.set(origin, (this.foreign.get(origin) ?? 0) + 1);
    } else if (read.kind === 'exchange') this.exchanges.push(read.exchange);
    else this.skipped += 1;
  }

  private decode(bytes: Buffer, line: number): string {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      throw lineError(this.options.name, line, 1, 'it is not UTF-8 text');
    }
  }

  /** Redacts credentials, also in keys. */
  private withoutCredentials(text: string, line: number): string {
    const { addSecret, redact } = this.options;
    const parsed = /authorization/i.test(text) ? parseJsonText(text) : undefined;
    const credentials = parsed && 'value' in parsed ? credentialsIn(parsed.value) : [];
    for (const credential of credentials) addSecret(credential);
    const redacted = redact(text);
    if (credentials.length > 0 || redacted !== text) this.secretLines.push(line);
    return redacted;
  }

  private parse(text: string, line: number): unknown {
    const parsed = parseJsonText(text);
    if ('at' in parsed) throw lineError(this.options.name, line, parsed.at + 1, parsed.message);
    try {
      return parseJson(text);
    } catch (error) {
      if (!(error instanceof JsonLimitError)) throw error;
      throw lineError(this.options.name, line, 1, `the record ${error.message}`);
    }
  }
}

/** Returns the links in the Link header of a record, by relation; none if it cannot be parsed. */
async function linksOf(record: unknown): Promise<Readonly<Record<string, string>>> {
  const headers = isJsonObject(record) && isJsonObject(record.response_headers) ? record.response_headers : {};
  const [, link] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'link') ?? [];
  return (typeof link === 'string' && (await parseLinkHeader(link))) || {};
}

/**
 * Reads a trace line by line.
 * @param chunks the bytes of the file
 * @throws InputError with line and column for a line that is not a record, and for a trace beyond the limits
 */
export async function readTrace(chunks: AsyncIterable<Buffer | string>, options: TraceOptions): Promise<Trace> {
  const reader = new TraceReader(options);
  let [line, size] = [0, 0];
  for await (const bytes of streamLines(chunks, MAX_LINE_MIB)) {
    line += 1;
    size += bytes.length;
    await reader.read(bytes, line);
    if (size > MAX_TRACE_MIB * 1024 * 1024 || reader.exchanges.length > MAX_EXCHANGES) {
      throw new InputError(`${options.name} is too large.`, {
        why: `It has more than ${MAX_TRACE_MIB} MiB or ${MAX_EXCHANGES.toLocaleString('en')} requests.`,
        hint: 'Record only the commands that matter, or use the first lines: head -n 1000 <trace> > part.jsonl',
      });
    }
  }
  const { exchanges, foreign, skipped, secretLines } = reader;
  return { exchanges, foreign, skipped, secretLines };
}

/** Returns the error for a file that cannot be read. */
export function unreadableTrace(name: string, error: unknown): InputError {
  return new InputError(`The trace cannot be read from ${name}.`, {
    why: describeFileError(error),
    hint: NOTHING_CHANGED,
  });
}
