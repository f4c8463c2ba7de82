import { randomUUID } from 'node:crypto';
import type { Http } from '../../../api/http.ts';
import { sendMessage } from '../../../chat/send.ts';
import { findSource, type SourceInput } from '../../../chat/source.ts';
import { awaitReplies, criteriaFlags, type ReplyCriteria, type ReplyTarget, waitLimit } from '../../../chat/wait.ts';
import type { Context } from '../../../cli/context.ts';
import { readText } from '../../../cli/input.ts';
import { UsageError } from '../../../errors.ts';
import { type CommandResult, objectResult, recordResult } from '../../../output/command-result.ts';
import type { TextSource } from '../../../platform/input.ts';
import { readableText, toMessageJson, writeNotice } from './messages.ts';

interface TypedMessage extends ReplyCriteria {
  readonly source: SourceInput;
  readonly session_id: string;
  readonly text: string | undefined;
  readonly textFile?: string | undefined;
  readonly externalId?: string | undefined;
  readonly wait?: boolean | undefined;
  readonly confirm?: string | undefined;
}

function parseText({ text, textFile: path }: TypedMessage): TextSource {
  if (text !== undefined && path !== undefined) {
    throw new UsageError('The message is given twice: as an argument and with --text-file.');
  }
  if (path === '-' || text === '-') return { from: 'stdin' };
  if (path !== undefined) return { from: 'file', path };
  if (text) return { from: 'argument', text };
  const hint = 'Give it as one quoted argument, as - for standard input, or with --text-file <path>.';
  throw new UsageError('The message is missing.', { hint });
}

/** Sends one message and, if it is asked for, waits for its replies. */
export async function sendOne(context: Context, typed: TypedMessage): Promise<CommandResult> {
  const { session_id, externalId: external_message_id = randomUUID(), replies, settle } = typed;
  const origin = parseText(typed);
  const text = await readText(context, origin, 'message');
  const criteria = { replies, settle };
  const isWaiting = typed.wait === true || isForSeveral(criteria);
  const limitMs = waitLimit(criteria, context.flags);
  await context.prompts.confirmWrite(typed.confirm);
  const http = await context.http();
  const source_id = await findSource(http, typed.source, context.command);
  const names = { source_id, session_id, external_message_id };
  const more = isWaiting ? ['--wait', ...criteriaFlags(criteria)] : [];
  context.progress.start('Sending the message');
  const { message_id, created } = await sendMessage(context, http, { ...names, text }, { origin, more });
  if (created === false) {
    await context.notice(
      `note: a message with external id ${external_message_id} was registered before (created: false).`,
    );
  }
  const ids = { ...names, message_id };
  const json = { ...ids, created: created ?? null, reply: null };
  if (!isWaiting) return recordResult({ message_id, external_message_id, created }, json);
  const target = { source_id, session_id, after_message_id: message_id, criteria, limitMs, ids };
  return await showReplies(context, http, target, json);
}

function isForSeveral({ replies, settle }: ReplyCriteria): boolean {
  return replies !== undefined || settle !== undefined;
}

/** Waits for the replies to a message, and shows them. @param json what is known of the message */
export async function showReplies(
  context: Context,
  http: Http,
  target: ReplyTarget,
  json: object,
): Promise<CommandResult> {
  context.progress.start('Waiting for the reply', Math.min(target.limitMs, http.remainingMs()));
  const { replies, failure } = await awaitReplies(context, http, target, (event) => writeNotice(context, event));
  const shown = replies.map((reply) => toMessageJson(target, reply));
  const several = isForSeveral(target.criteria) && { replies: shown };
  return {
    ...objectResult({ ...json, reply: shown[0] ?? null, ...several }, []),
    text: replies.map((reply) => readableText(reply).replace(/\n?$/, '\n')).join(''),
    failure,
  };
}
