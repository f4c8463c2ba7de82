import { Option } from '@commander-js/extra-typings';
import { deferred, defineCommand } from '../../cli/command.ts';
import { CONFIRM, SPACE_HELP } from '../../cli/options.ts';
import { CHAT_DEFAULTS, ROUTING_MODES } from '../../contract/chat-fields.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { UsageError } from '../../errors.ts';
import { recordResult } from '../../output/command-result.ts';

export const setup = () =>
  defineCommand('setup', "Create or reuse an agent's API chat source", {
    description: 'An agent has at most one API chat source. An existing one is never changed.',
    scopes: [OPERATIONS.createChatSource.scope, OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope],
    exits: ['unknown'],
    json: '{source_id, …}, as the service sends it',
    examples: [
      "partnerctl chat setup ext:acme-001 'name:Support'  # the space by your own id, the agent by name",
      "partnerctl chat setup ext:acme-001 'name:Support' --query source_id  # print only the source_id, for scripts",
      "partnerctl chat setup spc_123 agt_456 --name 'Web chat' --routing-mode session_workflow  # a workflow run for each message",
    ],
  })
    .argument('<space>', SPACE_HELP)
    .argument('<agent>', 'an agent_id, or name:<name>')
    .option('--name <name>', `the display name of a new source (default: ${CHAT_DEFAULTS.name})`)
    .option('--no-reply-capable', 'a new source accepts messages but returns no replies')
    .addOption(new Option('--routing-mode <mode>', 'where messages go; agent_inbox by default').choices(ROUTING_MODES))
    .option(...CONFIRM)
    .action(
      deferred(
        async (context, space, agent, { name, replyCapable: reply_capable, routingMode: routing_mode, confirm }) => {
          if (name?.trim() === '') throw new UsageError('--name is empty.');
          const { setUpChatSource } = await import('../../api/calls.ts');
          const references = await import('../../api/references.ts');
          const [ofSpace, ofAgent] = [references.parseReference(space), references.parseAgentReference(agent)];
          // A write is refused while the address of the state is invalid, although this one keeps nothing there.
          (await import('../../state/location.ts')).stateLocation(context);
          await context.prompts.confirmWrite(confirm);
          const http = await context.http();
          context.progress.start('Setting up the chat');
          const spaceId = await references.resolveSpaceId(http, ofSpace);
          const agentId = await references.resolveAgentId(http, spaceId, ofAgent);
          const asked = { ...(name && { name }), reply_capable, ...(routing_mode && { routing_mode }) };
          const wanted = { ...CHAT_DEFAULTS, ...asked };
          const { raw, created, ...source } = await setUpChatSource(http, spaceId, agentId, wanted);
          return recordResult({ ...source, created }, { ...raw, source_id: raw.source_id ?? source.source_id });
        },
      ),
    );
