import { isUtf8 } from 'node:buffer';
import type { Context } from '../cli/context.ts';
import { MAX_TEXT_MIB, readFileChunks, readStdin, streamLines } from '../cli/input.ts';
import { describeFileError, InputError, PartnerctlError } from '../errors.ts';
import { type Problem, ProblemList, problemsError, toSourceText } from '../yaml/problem.ts';
import { quoted } from '../yaml/quote.ts';
import { contentKey, deriveExternalId, rowKey, textDigest } from './row-ids.ts';
import { parseRow, type RowDefaults, type RowInput } from './row-input.ts';
import { RowSpool } from './row-spool.ts';

/** After this many mistakes, the check stops. */
const MAX_PROBLEMS = 100;

/** The longest line that is read, in MiB. */
const MAX_LINE_MIB = 64;

/** A row that gives its external_message_id. */
interface GivenId {
  /** Where the id is in the file: `7:42`. */
  readonly place: string;
  /** The digest of the text. */
  readonly digest: string;
}

/** Rows without a mistake. */
export interface CheckedRows {
  readonly name: string;
  readonly total: number;
  readonly spool: RowSpool;
  /** The messages of the rows by their keys in the state; null if the id is derived from the row. */
  readonly messages: ReadonlyMap<string, GivenId | null>;
}

interface RowsFile {
  /** `-` for standard input. */
  readonly path: string;
  readonly defaults: RowDefaults;
  readonly lanes: number;
}

/**
 * Checks rows one after the other. Of each row it holds two hashes (of its content and of its id, about half a KiB in all),
 * but neither its text nor its ids.
 */
class RowChecker {
  readonly problems: Problem[] = [];
  readonly messages = new Map<string, GivenId | null>();
  total = 0;
  line = 0;
  private readonly name: string;
  private readonly file: RowsFile;
  private readonly spool: RowSpool;
  /** How often each content came without an id. */
  private readonly occurrences = new Map<string, number>();

  constructor(name: string, file: RowsFile, spool: RowSpool) {
    this.name = name;
    this.file = file;
    this.spool = spool;
  }

  get isFull(): boolean {
    return this.problems.length >= MAX_PROBLEMS;
  }

  /** Checks the next line, and keeps its row if there has been no mistake so far. @throws LocalError */
  async check(bytes: Buffer): Promise<void> {
    this.line += 1;
    const text = bytes.toString();
    const source = toSourceText({ name: this.name, text }, this.line);
    if (source.text.trim() === '') return;
    const found = new ProblemList(source);
    const { defaults } = this.file;
    if (bytes.length > MAX_TEXT_MIB * 1024 * 1024) found.add([0, 0], `longer than ${MAX_TEXT_MIB} MiB`);
    else if (!isUtf8(bytes)) {
      const at = Math.max(0, source.text.indexOf('\ufffd'));
      found.add([at, at + 1], 'not UTF-8 text');
    } else {
      const row = parseRow(source.text, defaults, defaults.source_id !== undefined, (...mistake) =>
        found.add(...mistake),
      );
      if (row) await this.add(row, found);
    }
    this.problems.push(...found.sorted());
  }

  private async add(row: RowInput, found: ProblemList): Promise<void> {
    const { session_id, text, external_message_id } = row;
    const source_id = row.source_id ?? this.file.defaults.source_id ?? '';
    const occurrence = external_message_id === undefined ? this.count({ source_id, session_id, text }) : 1;
    const derived = external_message_id ?? deriveExternalId({ source_id, session_id, text, occurrence });
    const key = rowKey({ source_id, session_id, external_message_id: derived });
    this.messages.set(key, external_message_id === undefined ? null : this.givenId(row, key, found));
    this.total += 1;
    if (this.problems.length > 0 || found.size > 0) return;
    await this.spool.write(this.laneOf(source_id, session_id), {
      line: this.line,
      source_id: row.source_id ?? null,
      session_id,
      text,
      external_message_id: external_message_id ?? null,
      occurrence,
    });
  }

  /** Reports an id that an earlier row has with another text. @returns the first row of the id */
  private givenId({ text, idRange }: RowInput, key: string, found: ProblemList): GivenId {
    const digest = textDigest(text);
    const first = this.messages.get(key) ?? { place: `${this.line}:${idRange[0] + 1}`, digest };
    if (first.digest !== digest) {
      const line = first.place.split(':')[0];
      const message = `${quoted('external_message_id')} is that of line ${line}, which has another text`;
      found.add(idRange, message, 'give each message an id of its own');
    }
    return first;
  }

  private count(content: { source_id: string; session_id: string; text: string }): number {
    const key = contentKey(content);
    const count = (this.occurrences.get(key) ?? 0) + 1;
    this.occurrences.set(key, count);
    return count;
  }

  /** All rows of a session are in one lane, so that they are sent in order. */
  private laneOf(source_id: string, session_id: string): number {
    return Number.parseInt(textDigest(JSON.stringify([source_id, session_id])).slice(0, 8), 16) % this.file.lanes;
  }
}

async function readLines(chunks: AsyncIterable<Buffer | string>, checker: RowChecker): Promise<void> {
  for await (const line of streamLines(chunks, MAX_LINE_MIB)) {
    await checker.check(line);
    if (checker.isFull) return;
  }
}

/**
 * Reads a file of rows once, and checks all of them. What was checked is kept on disk, so that a change of the file does
 * not matter afterwards.
 * @returns the rows, which the caller must close
 * @throws InputError that shows the mistakes with file, line, and column; LocalError if there is no room for the rows
 */
export async function checkRows(
  { io, abortSignal }: Pick<Context, 'io' | 'abortSignal'>,
  file: RowsFile,
): Promise<CheckedRows> {
  const isStdin = file.path === '-';
  const name = isStdin ? '<stdin>' : file.path;
  const spool = await RowSpool.open(file.lanes);
  const checker = new RowChecker(name, file, spool);
  try {
    const chunks = isStdin ? readStdin(io.stdin, abortSignal) : readFileChunks(file.path, abortSignal);
    await readLines(chunks, checker);
    const { problems, messages, total } = checker;
    if (problems.length > 0) throw problemsError(problems.slice(0, MAX_PROBLEMS), 'nothing was sent', MAX_PROBLEMS);
    await spool.finish();
    return { name, total, spool, messages };
  } catch (error) {
    await spool.close();
    abortSignal.throwIfAborted();
    if (error instanceof PartnerctlError) throw error;
    throw new InputError(`The rows cannot be read from ${isStdin ? 'standard input' : name}.`, {
      why: describeFileError(error),
      hint: 'Nothing was sent.',
      cause: error,
    });
  }
}
