import { UsageError } from '../errors.ts';
import type { TextSource } from '../platform/input.ts';

/** The options of `chat send` that are for a single message. */
export interface MessageOptions {
  readonly textFile?: string | undefined;
  readonly externalId?: string | undefined;
  readonly wait?: boolean | undefined;
  readonly replies?: number | undefined;
  readonly settle?: number | undefined;
}

/** The options of `chat send` that are for the rows of a file. */
interface RowsOptions {
  /** A file, or `-` for standard input. */
  readonly rows?: string | undefined;
  /** How many sessions at a time. */
  readonly concurrency?: number | undefined;
  readonly dryRun?: boolean | undefined;
}

const READ_REPLIES = 'Read the replies with: partnerctl chat tail --source <source_id> --session <session_id>';

/** The flags that are for a single message, each with the hint for rows. */
const NOT_WITH_ROWS = {
  textFile: ['--text-file', 'The file is the text of one message. Give each row a "text".'],
  externalId: ['--external-id', 'The id is for one message. Give rows an "external_message_id".'],
  wait: ['--wait', READ_REPLIES],
  replies: ['--replies', READ_REPLIES],
  settle: ['--settle', READ_REPLIES],
} as const;

/** Checks that --rows comes without the parts of a single message, and the flags for rows with it. @throws UsageError */
export function checkSendOptions(
  text: string | undefined,
  message: MessageOptions,
  { rows, concurrency, dryRun }: RowsOptions,
): void {
  if (rows === undefined) {
    const other = concurrency !== undefined ? 'concurrency' : dryRun && 'dry-run';
    if (other) throw new UsageError(`--${other} can only be used with --rows.`);
    return;
  }
  if (text !== undefined) {
    throw new UsageError('--rows and a message cannot be combined.', { hint: 'Give each row its "text".' });
  }
  for (const key of ['textFile', 'externalId', 'wait', 'replies', 'settle'] as const) {
    const [flag, hint] = NOT_WITH_ROWS[key];
    if (message[key] !== undefined) throw new UsageError(`--rows and ${flag} cannot be combined.`, { hint });
  }
}

/** Finds where the text of a message is. @throws UsageError unless it is given once */
export function parseText(text: string | undefined, path: string | undefined): TextSource {
  if (text !== undefined && path !== undefined) {
    throw new UsageError('The message is given twice: as an argument and with --text-file.');
  }
  if (path !== undefined) return path === '-' ? { from: 'stdin' } : { from: 'file', path };
  if (text === '-') return { from: 'stdin' };
  if (text) return { from: 'argument', text };
  throw new UsageError(text === undefined ? 'The message is missing.' : 'The message is empty.', {
    hint: 'Give it as one quoted argument, as - for standard input, or with --text-file <path>.',
  });
}
