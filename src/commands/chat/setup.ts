import { setUpChatSource } from '../../api/chat.ts';
import type { Http } from '../../api/http.ts';
import {
  type AgentReference,
  parseAgentReference,
  parseReference,
  type Reference,
  resolveAgentId,
  resolveSpaceId,
} from '../../api/references.ts';
import { CHAT_DEFAULTS, type ChatSetup, chatDifferences, ROUTING_MODES } from '../../chat/source.ts';
import { type Command, command } from '../../cli/command.ts';
import type { ChatSource } from '../../contract/chat-source.ts';
import { NotFoundError, UsageError } from '../../errors.ts';
import { type Column, objectResult } from '../../output/command-result.ts';

interface Input {
  readonly space: Reference;
  readonly agent: AgentReference;
  /** What was asked for in so many words. */
  readonly asked: Partial<ChatSetup>;
}

function statusOf({ created }: ChatSource): 'made' | 'found' | 'unknown' {
  if (created === undefined) return 'unknown';
  return created ? 'made' : 'found';
}

const COLUMNS: readonly Column<ChatSource>[] = [
  { header: 'SOURCE', value: ({ source_id }) => source_id, noTruncate: true },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'ROUTING', value: ({ routing_mode }) => routing_mode },
  { header: 'STATUS', value: statusOf, tone: ({ created }) => (created ? 'good' : 'dim') },
];

async function setUp(http: Http, spaceId: string, agentId: string, fields: ChatSetup): Promise<ChatSource> {
  try {
    return await setUpChatSource(http, spaceId, agentId, fields);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const message = `The service does not know the agent ${JSON.stringify(agentId)} in the space ${JSON.stringify(spaceId)} (404).`;
    const hint = `\`partnerctl agents list ${spaceId}\` shows the agents of the space; a name is written name:${agentId}.`;
    throw new NotFoundError(message, { ...error.info, hint });
  }
}

/** What a person should know who asked for something else. */
function differencesNote(source: ChatSource, asked: Partial<ChatSetup>): string | undefined {
  const differences = chatDifferences(source, asked);
  if (differences.length === 0) return undefined;
  const said = differences.map((each) => `${each.field} is ${each.service}, not ${each.asked}`).join('; ');
  return `note: the source is not as it was asked for: ${said}. A source that is there stays as it is.`;
}

const setup: Command = command<Input>({
  description:
    'Creates the API chat source of an agent, or finds the one that it has: every agent has one, and a repeat makes no other. A source that is there stays as it is.',
  args: [
    { usage: '<space>', description: 'a space_id, ext:<external_space_id> or name:<name>' },
    { usage: '<agent>', description: 'an agent_id, or name:<name>' },
  ],
  flags: [
    { usage: '--name <name>', description: 'the display name of a new source', default: CHAT_DEFAULTS.name },
    // Declared first, so that the positive flag is what holds where neither is given.
    { usage: '--no-reply-capable', description: 'a new source takes messages and gives no replies' },
    { usage: '--reply-capable', description: 'a new source gives replies (the default)' },
    {
      usage: '--routing-mode <mode>',
      description: 'how a new source routes messages: into one inbox, or each into a workflow run of its own',
      choices: ROUTING_MODES,
      default: CHAT_DEFAULTS.routing_mode,
    },
  ],
  examples: [
    { line: "partnerctl chat setup ext:acme-001 'name:Support'", does: 'by your own id for the space, and by name' },
    {
      line: "partnerctl chat setup ext:acme-001 'name:Support' -o json --query source_id",
      does: 'its source_id, for a script',
    },
    {
      line: "partnerctl chat setup spc_123 agt_456 --name 'Web chat' --routing-mode session_workflow",
      does: 'every message a workflow run of its own',
    },
  ],
  parse(words) {
    const [space = '', agent = ''] = words.positionals;
    const name = words.value('name');
    if (name?.trim() === '') throw new UsageError('--name takes a name, not nothing.');
    const routing_mode = ROUTING_MODES.find((mode) => mode === words.value('routing-mode'));
    return {
      space: parseReference(space),
      agent: parseAgentReference(agent),
      asked: {
        ...(name !== undefined && { name }),
        reply_capable: words.isSet('reply-capable'),
        ...(routing_mode !== undefined && { routing_mode }),
      },
    };
  },
  async run(context, { space, agent, asked }) {
    const http = await context.http();
    context.progress.start('Setting up the chat');
    const spaceId = await resolveSpaceId(http, space);
    const agentId = await resolveAgentId(http, spaceId, agent);
    const source = await setUp(http, spaceId, agentId, { ...CHAT_DEFAULTS, ...asked });
    const note = differencesNote(source, asked);
    if (note !== undefined) await context.notice(note);
    const { cells } = objectResult(source, COLUMNS);
    return { kind: 'object', json: { ...source.raw, source_id: source.raw.source_id ?? source.source_id }, cells };
  },
});

export default setup;
