import { createHash, type Hash } from 'node:crypto';

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** A source of bytes that is read like a file. */
export interface ByteSource {
  /** Reads up to `length` bytes at a position into the buffer. Reads none at the end. */
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  /** Where it ends, if it cannot grow. */
  readonly end?: number;
}

/** Complete lines of a file. `bytes` is valid only until the next block is requested. */
export interface LineBlock {
  readonly kind: 'lines';
  /** The number of its first line, from 1. */
  readonly line: number;
  readonly bytes: Buffer;
  /** Whether this is a last line without a line ending: partially written, or still being written. */
  readonly isOpen: boolean;
}

/** A line longer than allowed; its content is skipped. */
export interface TooLong {
  readonly kind: 'tooLong';
  readonly line: number;
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly sha256: string;
}

/**
 * Whether to skip the line from `start` up to `end` (without its line ending) of a block. Called for each line of the log.
 */
export type LineFilter = (block: Buffer, start: number, end: number) => boolean;

export interface Line {
  readonly line: number;
  /** Without the line ending. Valid only until the next block is requested. */
  readonly bytes: Buffer;
}

function countNewlines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

/** How far a file has been read: the start of its first unread line. */
export interface FilePosition {
  offset: number;
  /** The number of that line, from 1. */
  line: number;
}

/** Returns the position before the first line. */
export function startOfFile(): FilePosition {
  return { offset: 0, line: 1 };
}

/**
 * Reads a file to its end in blocks of complete lines, in constant memory.
 * @param maxLine the maximum length of a line in bytes, without its newline
 * @param place where to start; advanced past every line that ends with a newline
 */
export async function* readBlocks(
  file: ByteSource,
  maxLine: number,
  place: FilePosition = startOfFile(),
): AsyncGenerator<LineBlock | TooLong, void, void> {
  let held = 0;
  let { line, offset } = place;
  const { end: endOfFile = Number.POSITIVE_INFINITY } = file;
  // One more byte than needed, so that a short rest does not look like a line that is too long.
  const buffer = Buffer.allocUnsafe(Math.min(maxLine, Math.max(0, endOfFile - offset)) + 1);
  let skipping: Hash | undefined;
  for (;;) {
    const { bytesRead } = await file.read(buffer, held, buffer.length - held, offset + held);
    if (bytesRead === 0) break;
    const filled = held + bytesRead;
    let start = 0;
    if (skipping) {
      const lineEnd = buffer.subarray(0, filled).indexOf(NEWLINE);
      skipping.update(buffer.subarray(0, lineEnd === -1 ? filled : lineEnd));
      if (lineEnd === -1) {
        offset += filled;
        continue;
      }
      yield { kind: 'tooLong', line, sha256: skipping.digest('hex') };
      skipping = undefined;
      line += 1;
      start = lineEnd + 1;
    }
    const end = Math.max(start, buffer.subarray(0, filled).lastIndexOf(NEWLINE) + 1);
    if (end > start) {
      const bytes = buffer.subarray(start, end);
      yield { kind: 'lines', line, bytes, isOpen: false };
      line += countNewlines(bytes);
    }
    buffer.copyWithin(0, end, filled);
    held = filled - end;
    offset += end;
    if (held === buffer.length) {
      skipping = createHash('sha256').update(buffer);
      offset += held;
      held = 0;
    }
    if (!skipping) Object.assign(place, { offset, line });
  }
  if (skipping) yield { kind: 'tooLong', line, sha256: skipping.digest('hex') };
  if (held > 0) yield { kind: 'lines', line, bytes: buffer.subarray(0, held), isOpen: true };
}

/**
 * Returns a function that checks whether a range of the block contains one of the texts. Call it for ascending ranges only.
 */
function createSearcher(block: Buffer, texts: readonly string[]): (start: number, end: number) => boolean {
  const searches = texts.map((text) => {
    const bytes = Buffer.from(text);
    return { bytes, next: block.indexOf(bytes) };
  });
  return (start, end) => {
    for (const search of searches) {
      if (search.next !== -1 && search.next < start) search.next = block.indexOf(search.bytes, start);
      if (search.next !== -1 && search.next < end) return true;
    }
    return false;
  };
}

/**
 * Yields the nonempty lines of a block.
 * @param containing skips lines that look like records but contain none of these texts
 * @param isSkipped skips further lines
 */
export function* splitLines(
  block: LineBlock,
  containing?: readonly string[],
  isSkipped: LineFilter = () => false,
): Generator<Line, void, void> {
  const { bytes } = block;
  const contains = containing && createSearcher(bytes, containing);
  let line = block.line;
  for (let start = 0; start < bytes.length; line += 1) {
    const newline = bytes.indexOf(NEWLINE, start);
    const next = newline === -1 ? bytes.length : newline + 1;
    let end = newline === -1 ? bytes.length : newline;
    if (end > start && bytes[end - 1] === RETURN) end -= 1;
    if (end > start) {
      const skippable = contains && bytes[start] === OPENING_BRACE && bytes[end - 1] === CLOSING_BRACE;
      const isWanted = (!skippable || contains(start, end)) && !isSkipped(bytes, start, end);
      if (isWanted) yield { line, bytes: bytes.subarray(start, end) };
    }
    start = next;
  }
}

/** Returns a source for a log in memory, or the end of one. @param start the offset of the content in the file */
export function contentSource(content: Buffer, start = 0): ByteSource {
  return {
    end: start + content.length,
    async read(buffer, offset, length, position) {
      const from = Math.min(content.length, position - start);
      return { bytesRead: content.copy(buffer, offset, from, Math.min(content.length, from + length)) };
    },
  };
}
