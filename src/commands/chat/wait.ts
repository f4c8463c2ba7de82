import { findSource } from '../../chat/source.ts';
import { hintAtMessage } from '../../chat/tail.ts';
import { command, SERVICE_EXITS } from '../../cli/command.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { objectResult } from '../../output/command-result.ts';
import { joinTexts, toMessageJson } from './shared/message-output.ts';
import { awaitReplies, parseReplyCriteria, REPLY_FLAGS, type TypedCriteria } from './shared/replies.ts';
import {
  commandFormatter,
  parseSession,
  REQUIRED_SESSION,
  SESSION_FLAG,
  type SessionInput,
  SOURCE_FLAGS,
} from './shared/session-flags.ts';

interface Input extends SessionInput {
  readonly after_message_id: string;
  readonly criteria: TypedCriteria;
}

const CHECK_AFTER = 'Check --after: it must be the message_id of a message of this session, as `chat send` printed it.';
const AFTER_HINT =
  'Get the message_id when you send: partnerctl chat send --source <source_id> --session <session_id> <text> --query message_id';

export default command<Input>({
  description:
    'Waits for the reply to a message that was sent earlier, and prints only its text, like `chat send --wait`. A reply that already exists counts.',
  flags: [
    ...SOURCE_FLAGS,
    SESSION_FLAG,
    {
      usage: '--after <message_id>',
      description: 'wait for replies after this message: a message_id that `chat send` printed',
    },
    ...REPLY_FLAGS,
  ],
  required: [...REQUIRED_SESSION, { oneOf: ['after'], hint: AFTER_HINT }],
  scopes: [SCOPE.chat],
  exits: [...SERVICE_EXITS, 'noReply'],
  examples: [
    {
      line: 'partnerctl chat wait --source src_1 --session anna --after msg_7',
      does: 'the first reply after a message, for up to 2m or --timeout',
    },
    {
      line: 'partnerctl chat wait --agent name:Support --space ext:acme-001 --session anna --after msg_7 --settle 5s -o json',
      does: 'the source by agent and space; all replies until it is quiet for 5s',
    },
  ],
  parse: (args) => ({
    ...parseSession(args),
    after_message_id: args.required('after'),
    criteria: parseReplyCriteria(args),
  }),
  async run(context, { criteria, source, session_id, after_message_id }) {
    const http = await context.http();
    const source_id = await findSource(http, source, commandFormatter(context));
    const ids = { source_id, session_id, after_message_id };
    const target = { ...ids, isJustRegistered: false };
    const { replies, failure } = await awaitReplies(context, http, target, {
      criteria,
      details: { session_id, after_message_id },
    });
    const json = replies.map((reply) => toMessageJson(ids, reply));
    return {
      ...objectResult({ ...ids, reply: json[0] ?? null, ...(criteria.flags.length > 0 && { replies: json }) }, []),
      text: joinTexts(replies),
      ...(failure && { failure: hintAtMessage(failure, CHECK_AFTER) }),
    };
  },
});
