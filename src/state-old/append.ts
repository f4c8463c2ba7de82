import { InputError } from '../errors.ts';
import { recordTooLongError } from './file-error.ts';
import { LogWriter } from './log-writer.ts';
import { encodeRecord, MAX_LINE_BYTES, type NewRecord } from './record.ts';

/** Replaces the secrets in a text. Returns a text without secrets unchanged. */
export type Redact = (text: string) => string;

/** For logs that never have secrets. */
const noRedaction: Redact = (text) => text;

/** @throws InputError if the line contains a secret: people share the state file */
function refuseSecret(line: string, redact: Redact): void {
  if (redact(line) === line) return;
  throw new InputError('A secret would be written to the state.', {
    why: 'A name or an id in this command contains the token, or another secret.',
    hint: 'Use a name or an id without it.',
  });
}

/**
 * Encodes a record as a line of the log.
 * @param label the name of the log, for errors
 * @throws InputError if the record contains a secret; LocalError if the line is too long
 */
export function encodeLine<Fields extends NewRecord>(
  record: Fields,
  label: string,
  redact: Redact = noRedaction,
): string {
  const line = encodeRecord(record);
  refuseSecret(line, redact);
  const length = Buffer.byteLength(line);
  if (length > MAX_LINE_BYTES) throw recordTooLongError(label, length, MAX_LINE_BYTES);
  return line;
}

/**
 * Appends lines to the log at a path, as `LogWriter.append` does.
 * @throws LocalError if the write fails; the file may still contain some of the lines, or a part of one
 */
async function appendLines(path: string, lines: readonly string[]): Promise<void> {
  const writer = new LogWriter(path);
  try {
    await writer.append(lines);
  } finally {
    await writer.close();
  }
}

/**
 * Appends one record to the log at a path.
 * @throws InputError if the record contains a secret, before anything is written
 * @throws LocalError if the write fails; the file may still contain part or all of the record
 */
export async function appendRecord<Fields extends NewRecord>(
  path: string,
  record: Fields,
  redact?: Redact,
): Promise<void> {
  await appendLines(path, [encodeLine(record, path, redact)]);
}

/** Appends lines to the content of a log. Adds a newline if an editor removed the last one. */
export function extendLog(content: Buffer, lines: readonly string[]): Buffer {
  const needsNewline = content.length > 0 && content.at(-1) !== 0x0a;
  return Buffer.concat([
    content,
    Buffer.from(`${needsNewline ? '\n' : ''}${lines.map((line) => `${line}\n`).join('')}`),
  ]);
}
