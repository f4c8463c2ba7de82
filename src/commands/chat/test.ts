import { deferred, defineCommand } from '../../cli/command.ts';
import {
  AGENT_HELP,
  CONFIRM,
  collect,
  EXCLUDE,
  integer,
  ONLY,
  ROWS,
  SPACE_HELP,
  SUMMARY_FILE,
  VAR_FILE,
} from '../../cli/options.ts';
import { UsageError } from '../../errors.ts';
import { CHAT_SCOPES } from './shared/session-options.ts';

export const test = () =>
  defineCommand('test', 'Hold conversations as tests, with one agent or with that of every customer', {
    description:
      'Holds the conversations of YAML files, each in a session of its own, and compares the replies with what the files expect. With --manifests, each conversation is held with the agent of every space that the manifests describe. Nothing is created. See: partnerctl help tests',
    scopes: CHAT_SCOPES,
    exits: ['unexpectedReply', 'noReply'],
    required: [{ oneOf: ['--manifests'], when: ['--only', '--exclude', '--limit', '--rows'] }],
    json: '{results: [{test, source, external_space_id, space_id, agent_id, agent, status, runs, passed, turns: [{say, reply, seconds, failures: [{line, expected, got}]}], session_id, error}], summary: {passed, failed, no_reply, error}}',
    examples: [
      'partnerctl chat test tests/ --agent name:Support --space ext:acme-001  # all conversations, with one agent',
      'partnerctl chat test smoke.yaml --agent name:Support --manifests customers/ --junit report.xml  # with that agent of every customer',
      'partnerctl chat test tests/ --check  # check the files alone; nothing is sent',
    ],
  })
    .argument('[file...]', 'YAML files of conversations, directories of them, or - for standard input')
    .option('--source <source_id>', "the agent's API chat source")
    .option('--agent <agent>', `for conversations that name none: ${AGENT_HELP}`)
    .option('--space <space>', SPACE_HELP)
    .option(
      '--manifests <path>',
      'hold each conversation with every space that these manifests describe; repeatable',
      collect,
      [],
    )
    .option('--var <NAME=value>', 'a value for ${NAME} in manifests and conversations; repeatable', collect, [])
    .option(...VAR_FILE)
    .option(...ROWS)
    .option(...ONLY)
    .option(...EXCLUDE)
    .option('--limit <n>', 'with --manifests: only the first n spaces', integer(1, 100_000))
    .option('--repeat <n>', 'hold each conversation n times', integer(1, 100), 1)
    .option('--pass <n>', 'how many of them have to pass (default: all)', integer(1, 100))
    .option('--concurrency <n>', 'how many conversations at a time, 1 to 64', integer(1, 64), 8)
    .option('--junit <path>', 'write the results as JUnit XML to this file')
    .option('--check', 'only check the files; nothing is sent')
    .option('--schema', 'print the JSON Schema of a conversation')
    .option('--dry-run', 'only say how many conversations would be held; nothing is sent')
    .option(...SUMMARY_FILE)
    .option(...CONFIRM)
    .action(
      deferred(async (context, files, options) => {
        if (options.schema) {
          const { conversationJsonSchema } = await import('../../chat/test-file.ts');
          return { kind: 'text', text: `${JSON.stringify(conversationJsonSchema(), null, 2)}\n` };
        }
        const { repeat, pass = repeat } = options;
        if (pass > repeat) throw new UsageError(`--pass ${pass} is more than --repeat ${repeat}.`);
        const { testConversations } = await import('./shared/tests.ts');
        return await testConversations(context, files, { ...options, pass });
      }),
    );
