import { randomUUID } from 'node:crypto';
import type { NewMessage, SentMessage } from '../../../api/calls.ts';
import { sendMessage } from '../../../chat/send.ts';
import { findSource, type SourceInput } from '../../../chat/source.ts';
import { awaitReplies, criteriaFlags, isForSeveral } from '../../../chat/wait.ts';
import type { Context } from '../../../cli/context.ts';
import { readText, textFromArgument } from '../../../cli/input.ts';
import { ShapeError, UsageError } from '../../../errors.ts';
import { type Column, type CommandResult, objectResult } from '../../../output/command-result.ts';
import type { TextSource } from '../../../platform/input.ts';
import { joinTexts, toMessageJson, writeNotice } from './messages.ts';

type Registered = Pick<SentMessage, 'message_id' | 'created'> & Pick<NewMessage, 'external_message_id'>;

const COLUMNS: readonly Column<Registered>[] = [
  { header: 'MESSAGE', value: ({ message_id }) => message_id },
  { header: 'EXTERNAL ID', value: ({ external_message_id }) => external_message_id },
  { header: 'CREATED', value: ({ created }) => (created === undefined ? '' : created ? 'yes' : 'no') },
];

/** What the acknowledgement says besides the ids. */
function noteOf({ created, wasRetried, message_id }: SentMessage, externalId: string): string | undefined {
  if (created === false && wasRetried)
    return `note: a message with external id ${externalId} already existed when the last attempt reached the service (created: false). An earlier attempt of this command may have registered it.`;
  if (created === false)
    return `note: a message with external id ${externalId} already exists; nothing new was registered (created: false).`;
  if (message_id !== null) return undefined;
  return 'note: the message is registered, but its message_id is not known: the response is empty.';
}

/** The error for a message whose replies cannot be waited for. */
function withoutIdError({ command }: Context, { source_id, session_id, ...ids }: Omit<NewMessage, 'text'>): ShapeError {
  const tail = ['chat', 'tail', '--source', source_id, '--session', session_id, '--from-start', '--no-follow'];
  return new ShapeError('The replies cannot be told from earlier ones, as the message_id is not known.', {
    hint: `The message is registered. To read the history: ${command(tail)}`,
    details: { source_id, session_id, ...ids, message_id: null },
  });
}

/** A message as typed. */
interface TypedMessage {
  readonly source: SourceInput;
  readonly session_id: string;
  readonly text: string | undefined;
  readonly textFile?: string | undefined;
  readonly externalId?: string | undefined;
  readonly wait?: boolean | undefined;
  readonly replies?: number | undefined;
  readonly settle?: number | undefined;
}

/** Finds where the text of a message is. @throws UsageError unless it is given once */
function parseText({ text, textFile: path }: TypedMessage): TextSource {
  if (text !== undefined && path !== undefined) {
    throw new UsageError('The message is given twice: as an argument and with --text-file.');
  }
  if (path === '-' || text === '-') return { from: 'stdin' };
  if (path !== undefined) return { from: 'file', path };
  const hint = 'as - for standard input, or with --text-file <path>';
  if (text) return textFromArgument('The message', text, hint);
  throw new UsageError(text === undefined ? 'The message is missing.' : 'The message is empty.', {
    hint: `Give it as one quoted argument, ${hint}.`,
  });
}

/** Sends one message and, if it is asked for, waits for its replies. */
export async function sendOne(context: Context, typed: TypedMessage): Promise<CommandResult> {
  const { session_id, externalId: external_message_id = randomUUID(), replies: count, settle } = typed;
  const origin = parseText(typed);
  const text = await readText(context, origin, 'message');
  const criteria = { replies: count, settle };
  const isWaiting = typed.wait === true || isForSeveral(criteria);
  const http = await context.http();
  const source_id = await findSource(http, typed.source, context.command);
  const names = { source_id, session_id, external_message_id };
  const more = isWaiting ? ['--wait', ...criteriaFlags(criteria)] : [];
  const sent = await sendMessage(context, http, { ...names, text }, { origin, more });
  const { message_id, created } = sent;
  const note = noteOf(sent, external_message_id);
  if (note !== undefined) await context.notice(note);
  const ids = { ...names, message_id };
  const result = objectResult({ message_id, external_message_id, created }, COLUMNS);
  const json = { ...ids, created: created ?? null, reply: null };
  if (!isWaiting) return { ...result, json };
  if (message_id === null) return { ...result, json, text: '', failure: withoutIdError(context, names) };
  const target = { source_id, session_id, after_message_id: message_id, isJustRegistered: true, criteria, ids };
  const { replies, failure } = await awaitReplies(context, http, target, (event) => writeNotice(context, event));
  const replyJson = replies.map((reply) => toMessageJson(ids, reply));
  const several = isForSeveral(criteria) && { replies: replyJson };
  return {
    ...result,
    json: { ...json, reply: replyJson[0] ?? null, ...several },
    text: joinTexts(replies),
    ...(failure && { failure }),
  };
}
