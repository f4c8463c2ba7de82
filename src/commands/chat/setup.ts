import { setUpChatSource } from '../../api/calls.ts';
import type { Http } from '../../api/http.ts';
import {
  type AgentReference,
  parseAgentReference,
  parseReference,
  type Reference,
  resolveAgentId,
  resolveSpaceId,
} from '../../api/references.ts';
import { CHAT_DEFAULTS, type ChatSetup, chatDifferences, ROUTING_MODES } from '../../chat/chat-setup.ts';
import { SPACE_DESCRIPTION } from '../../cli/agent-args.ts';
import { command, SERVICE_EXITS } from '../../cli/command.ts';
import type { ChatSource } from '../../contract/chat-source.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { NotFoundError, UsageError } from '../../errors.ts';
import { type Column, objectResult } from '../../output/command-result.ts';

interface Input {
  readonly space: Reference;
  readonly agent: AgentReference;
  /** The fields given explicitly. */
  readonly asked: Partial<ChatSetup>;
}

function sourceStatus({ created }: ChatSource): 'created' | 'reused' | 'unknown' {
  if (created === undefined) return 'unknown';
  return created ? 'created' : 'reused';
}

const COLUMNS: readonly Column<ChatSource>[] = [
  { header: 'SOURCE', value: ({ source_id }) => source_id },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'ROUTING', value: ({ routing_mode }) => routing_mode },
  { header: 'STATUS', value: sourceStatus, tone: ({ created }) => (created ? 'good' : 'dim') },
];

async function setUp(http: Http, spaceId: string, agentId: string, fields: ChatSetup): Promise<ChatSource> {
  try {
    return await setUpChatSource(http, spaceId, agentId, fields);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const message = `The service does not know agent ${JSON.stringify(agentId)} in space ${JSON.stringify(spaceId)} (404).`;
    const list = `List the agents with: partnerctl agents list ${spaceId}. To give a name, write name:${agentId}.`;
    throw new NotFoundError(message, { ...error.info, hint: [list, error.info.hint].join('\n') });
  }
}

function formatDifferences(source: ChatSource, asked: Partial<ChatSetup>): string | undefined {
  const differences = chatDifferences(source, asked);
  if (differences.length === 0) return undefined;
  const list = differences.map((each) => `${each.field} is ${each.service}, not ${each.asked}`).join('; ');
  return `note: the source differs from what you asked for: ${list}. An existing source is never changed.`;
}

export default command<Input>({
  description:
    "Creates an agent's API chat source, or finds the existing one: every agent has at most one. An existing source is never changed.",
  args: [
    { usage: '<space>', description: SPACE_DESCRIPTION },
    { usage: '<agent>', description: 'an agent_id, or name:<name>' },
  ],
  flags: [
    { usage: '--name <name>', description: 'the display name of a new source', default: CHAT_DEFAULTS.name },
    // Declare this first, so that commander's default is the positive flag.
    { usage: '--no-reply-capable', description: 'a new source accepts messages but returns no replies' },
    { usage: '--reply-capable', description: 'a new source returns replies (the default)' },
    {
      usage: '--routing-mode <mode>',
      description: 'how a new source routes messages: to one inbox, or each to its own workflow run',
      choices: ROUTING_MODES,
      default: CHAT_DEFAULTS.routing_mode,
    },
  ],
  columns: COLUMNS,
  scopes: [SCOPE.setUpChat, SCOPE.readSpaces, SCOPE.readAgents],
  exits: [...SERVICE_EXITS, 'unknown'],
  examples: [
    { line: "partnerctl chat setup ext:acme-001 'name:Support'", does: 'the space by your own id, the agent by name' },
    {
      line: "partnerctl chat setup ext:acme-001 'name:Support' --query source_id",
      does: 'print only the source_id, for scripts',
    },
    {
      line: "partnerctl chat setup spc_123 agt_456 --name 'Web chat' --routing-mode session_workflow",
      does: 'a workflow run for each message',
    },
  ],
  parse(args) {
    const [space = '', agent = ''] = args.positionals;
    const name = args.value('name');
    if (name?.trim() === '') throw new UsageError('--name is empty.');
    const routing_mode = ROUTING_MODES.find((mode) => mode === args.value('routing-mode'));
    return {
      space: parseReference(space),
      agent: parseAgentReference(agent),
      asked: {
        ...(name !== undefined && { name }),
        reply_capable: args.isSet('reply-capable'),
        ...(routing_mode !== undefined && { routing_mode }),
      },
    };
  },
  writes: () => true,
  async run(context, { space, agent, asked }) {
    // A write is refused while the address of the state is invalid, although this one keeps nothing there.
    await context.stateLocation();
    const http = await context.http();
    context.progress.start('Setting up the chat');
    const spaceId = await resolveSpaceId(http, space);
    const agentId = await resolveAgentId(http, spaceId, agent);
    const source = await setUp(http, spaceId, agentId, { ...CHAT_DEFAULTS, ...asked });
    const note = formatDifferences(source, asked);
    if (note !== undefined) await context.notice(note);
    const json = { ...source.raw, source_id: source.raw.source_id ?? source.source_id };
    return { ...objectResult(source, COLUMNS), json };
  },
});
