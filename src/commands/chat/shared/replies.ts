import type { Http } from '../../../api/http.ts';
import { awaitReplies, isForSeveral, type ReplyTarget } from '../../../chat/wait.ts';
import type { Context } from '../../../cli/context.ts';
import { type CommandResult, objectResult } from '../../../output/command-result.ts';
import { readableText, toMessageJson, writeNotice } from './messages.ts';

/** Waits for the replies to a message, and shows them. @param json what is known of the message */
export async function showReplies(
  context: Context,
  http: Http,
  target: ReplyTarget,
  json: object,
): Promise<CommandResult> {
  const { replies, failure } = await awaitReplies(context, http, target, (event) => writeNotice(context, event));
  const shown = replies.map((reply) => toMessageJson(target, reply));
  const several = isForSeveral(target.criteria) && { replies: shown };
  return {
    ...objectResult({ ...json, reply: shown[0] ?? null, ...several }, []),
    text: replies.map((reply) => readableText(reply).replace(/\n?$/, '\n')).join(''),
    ...(failure && { failure }),
  };
}
