import type { RepliesWanted } from '../../chat/replies.ts';
import { awaitReplies, REPLY_FLAGS, repliesText, repliesWanted } from '../../chat/replies.ts';
import { messageJson } from '../../chat/shown.ts';
import { command } from '../../cli/command.ts';
import { objectResult } from '../../output/command-result.ts';

interface Input {
  readonly source_id: string;
  readonly session_id: string;
  readonly after_message_id: string;
  readonly wanted: RepliesWanted;
}

export default command<Input>({
  description:
    'Waits for the reply to a message that was sent before, and prints its text alone, as `chat send --wait` does. A reply that is there already counts.',
  flags: [
    { usage: '--source <source_id>', description: "the agent's API chat source" },
    { usage: '--session <session_id>', description: 'the conversation' },
    { usage: '--after <message_id>', description: 'the message after which replies count' },
    ...REPLY_FLAGS,
  ],
  examples: [
    {
      line: 'partnerctl chat wait --source src_1 --session anna --after msg_7',
      does: 'the first reply after a message, for 2m or as long as --timeout says',
    },
    {
      line: 'partnerctl chat wait --source src_1 --session anna --after msg_7 --settle 5s -o json',
      does: 'all replies until it is quiet',
    },
  ],
  parse: (words) => ({
    source_id: words.required('source'),
    session_id: words.required('session'),
    after_message_id: words.required('after'),
    wanted: repliesWanted(words),
  }),
  async run(context, { wanted, ...ids }) {
    const { source_id, session_id, after_message_id: after } = ids;
    const place = { source_id, session_id, after };
    const report = { registered: false, preface: undefined, details: ids };
    const { replies, failure } = await awaitReplies(context, await context.http(), place, wanted, report);
    const shown = replies.map((reply) => messageJson(place, reply));
    return {
      ...objectResult({ ...ids, reply: shown[0] ?? null, ...(wanted.several && { replies: shown }) }, []),
      text: repliesText(replies),
      ...(failure && { failure }),
    };
  },
});
