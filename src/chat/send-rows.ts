import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { refuseTokenOnStdin } from '../cli/input.ts';
import { InputError, PartnerctlError } from '../errors.ts';
import { type CommandResult, listResult } from '../output/command-result.ts';
import { joinSentences } from '../output/sentences.ts';
import type { StateStore } from '../state-old/store.ts';
import { type CheckedRows, checkRows } from './check-rows.ts';
import { type FoundSource, findSource, knownSource } from './find-source.ts';
import { SessionMemory } from './known-sessions.ts';
import { mergeLanes } from './merge-lanes.ts';
import { rowKey } from './row-ids.ts';
import { type RowAck, RowRecorder, readRowAcks } from './row-records.ts';
import { ciView, ROW_COLUMNS, type RowResult, RowTally, rowResultJson } from './row-result.ts';
import { type HandledRow, RowSender } from './row-sender.ts';
import type { SourceInput } from './session-args.ts';

/** Rows to send, as typed. */
export interface RowsInput {
  /** A file, or `-` for standard input. */
  readonly path: string;
  /** For rows without a source_id. */
  readonly source: SourceInput | undefined;
  /** For rows without a session_id. */
  readonly session_id: string | undefined;
  /** How many sessions at a time. */
  readonly concurrency: number;
  readonly dryRun: boolean;
}

async function readRows(context: Context, input: RowsInput, source: FoundSource | undefined): Promise<CheckedRows> {
  const { path, session_id, concurrency } = input;
  const { io, progress } = context;
  if (path === '-' && io.stdin.isTTY) await context.notice('Reading standard input. Press Ctrl-D to finish.');
  else progress.start('Checking the rows');
  const defaults = { source_id: source?.source_id, session_id };
  return await checkRows(context, { path, defaults, lanes: concurrency });
}

const MAX_NAMED_CHANGES = 10;

/** Refuses rows whose text differs from the one that was sent under their id, which the service would drop. */
function refuseChangedTexts({ name, messages }: CheckedRows, acks: ReadonlyMap<string, RowAck>): void {
  const places = [...acks.values()].flatMap(({ key, digest }) => {
    const given = messages.get(key);
    return given && given.digest !== digest ? [given.place] : [];
  });
  if (places.length === 0) return;
  const sorted = places.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
  const lines = sorted
    .slice(0, MAX_NAMED_CHANGES)
    .map((place) => `${name}:${place}: an earlier run sent another text under this external_message_id`);
  if (places.length > MAX_NAMED_CHANGES) lines.push(`and ${places.length - MAX_NAMED_CHANGES} more`);
  throw new InputError(
    `The input has ${places.length === 1 ? 'a mistake' : `${places.length} mistakes`}; nothing was sent.`,
    {
      why: lines.join('\n'),
      hint: 'The service registers one message for each id. Restore the text, or give the message another id.',
    },
  );
}

/** Waits until all rows are sent and recorded. */
async function finish(handled: AsyncGenerator<HandledRow>, waiting: readonly HandledRow[]): Promise<void> {
  for await (const { recorded } of handled) await recorded;
  for (const { recorded } of waiting) await recorded;
}

/**
 * Yields results once they are recorded. If the consumer stops early, the remaining rows are still sent and recorded.
 * @param ahead how many messages may be sent before the first of them is recorded
 */
async function* whenRecorded(handled: AsyncGenerator<HandledRow>, ahead: number): AsyncGenerator<RowResult> {
  const waiting: HandledRow[] = [];
  const receive = async (): Promise<boolean> => {
    const { done, value } = await handled.next();
    if (!done) waiting.push(value);
    return !done;
  };
  let receiving = receive();
  let isOpen = true;
  try {
    while (isOpen || waiting.length > 0) {
      const [first] = waiting;
      const isFull = !isOpen || waiting.length >= ahead;
      const received =
        first && isFull ? await first.recorded : await Promise.race([receiving, first?.recorded ?? receiving]);
      if (received === false) isOpen = false;
      else if (received) receiving = receive();
      else if (first) {
        waiting.shift();
        yield first.result;
      }
    }
  } finally {
    await receiving;
    await finish(handled, waiting);
  }
}

async function openAcks(
  { progress }: Context,
  rows: CheckedRows,
  { store, origin, dryRun }: { readonly store: StateStore; readonly origin: string; readonly dryRun: boolean },
): Promise<Map<string, RowAck>> {
  progress.start('Reading the state');
  if (!dryRun) await store.check();
  const acks = await readRowAcks(store, origin, (key) => rows.messages.has(key));
  refuseChangedTexts(rows, acks);
  return acks;
}

async function warnRowsUnrecorded({ warn }: Context, error: unknown): Promise<void> {
  if (!(error instanceof PartnerctlError)) throw error;
  await warn(
    joinSentences(
      `${error.message}\nFrom here on, what is sent is not recorded: a repeated run sends it again under the same external ids, so that it is registered once.`,
    ),
  );
}

interface RunOptions {
  readonly http: () => Promise<Http>;
  /** Of the rows that name none. */
  readonly source: FoundSource | undefined;
  readonly dryRun: boolean;
}

async function* sendChecked(
  context: Context,
  rows: CheckedRows,
  tally: RowTally,
  { http: getHttp, source, dryRun }: RunOptions,
): AsyncGenerator<RowResult> {
  const { progress, clock } = context;
  let closing: (() => Promise<void>) | undefined;
  try {
    const http = await getHttp();
    const store = await context.stateStore();
    const acks = await openAcks(context, rows, { store, origin: http.baseUrl, dryRun });
    const onFailure = (error: unknown) => warnRowsUnrecorded(context, error);
    const recorder = new RowRecorder(store, { origin: http.baseUrl, clock, onFailure });
    const sessions = new SessionMemory(context, http.baseUrl);
    closing = () => sessions.save();
    const sender = new RowSender({ context, http, source, acks, recorder, sessions, dryRun });
    const handled = mergeLanes(rows.spool.read().map((lane) => sender.send(lane)));
    progress.start('Sending the messages');
    let [count, known] = [0, 0];
    for await (const result of whenRecorded(handled, store.reservationsAtOnce)) {
      tally.add(result);
      count += 1;
      // A derived id depends on the text, so the registered text is the same.
      if (result.created === false && rows.messages.get(rowKey(result))) known += 1;
      progress.update(`Sending the messages: ${count} of ${rows.total}`);
      yield result;
    }
    if (known > 0) {
      await context.notice(
        `note: ${known} of the messages were registered under their external_message_id before, and the service keeps the text of then.`,
      );
    }
    if (tally.unidentified > 0) {
      await context.notice(
        `note: ${tally.unidentified} of the messages are registered, but their message_id is not known: the response is empty, and the history does not show their external ids.`,
      );
    }
  } finally {
    await closing?.();
    await rows.spool.close();
  }
}

/**
 * Sends one message for each row of a file. A repeat sends only what is left: what was sent is in the state, and the ids of
 * the messages follow from the rows.
 *
 * Lanes run at the same time; a lane sends its rows one after the other. All rows of a session are in one lane (see
 * `RowChecker.laneOf`), so that they stay in order.
 *
 * Holds in memory, for each row, two hashes (see `RowChecker`) and the message_id of an acknowledgement; the rows themselves
 * are on disk. ndjson and tsv hold no results; the other formats hold them all.
 * @throws InputError that shows the mistakes in the file; nothing was sent then
 */
export async function sendRows(context: Context, input: RowsInput): Promise<CommandResult> {
  const { path, source: named, dryRun } = input;
  if (path === '-') refuseTokenOnStdin(context.flags, 'input');
  let opened: Promise<Http> | undefined;
  const http = (): Promise<Http> => {
    opened ??= context.http();
    return opened;
  };
  // Check the token before reading standard input, which cannot be read again.
  if (path === '-') await http();
  const isAgent = named !== undefined && !('source_id' in named);
  const source = isAgent ? await findSource(context, await http(), named) : named && knownSource(named.source_id);
  const rows = await readRows(context, input, source);
  const tally = new RowTally(rows);
  return listResult(sendChecked(context, rows, tally, { http, source, dryRun }), ROW_COLUMNS, {
    empty: 'No messages to send.',
    json: rowResultJson,
    ci: ciView(rows.name),
    sortIndex: ({ line }) => line,
    summary: () => (rows.total === 0 ? '' : tally.summary()),
    failure: () => tally.failure(context.signals.interrupt.reason),
  });
}
