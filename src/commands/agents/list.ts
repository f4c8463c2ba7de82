import { deferred, defineCommand } from '../../cli/command.ts';
import { SPACE_HELP } from '../../cli/options.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import type { ListedAgent } from '../../contract/resources.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const COLUMNS: readonly Column<ListedAgent>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'AGENT', value: ({ agent_id }) => agent_id },
  { header: 'TEMPLATE', value: ({ template_id }) => template_id },
];

export const list = () =>
  defineCommand('list', 'List the agents of a space', {
    scopes: [OPERATIONS.listAgents.scope, OPERATIONS.listSpaces.scope],
    json: '[{agent_id?, name?, template_id?, …}], as the service sends them',
    examples: [
      'partnerctl agents list ext:acme-001  # list the agents of the space with this external id',
      "partnerctl agents list 'name:Acme' -o json  # find the space by name; print JSON",
      "partnerctl agents list ext:acme-001 --query '[].agent_id'  # print their ids",
    ],
  })
    .argument('<space>', SPACE_HELP)
    .action(
      deferred(async (context, space) => {
        const { parseReference, resolveSpaceId } = await import('../../api/references.ts');
        const { listAgents } = await import('../../api/calls.ts');
        const { rememberIds } = await import('../../cli/completion-ids.ts');
        const http = await context.http();
        context.progress.start('Listing agents');
        const spaceId = await resolveSpaceId(http, parseReference(space));
        return listResult(rememberIds(context, 'agent', listAgents(http, spaceId, 'show')), COLUMNS, {
          empty: 'The space has no agents.',
          json: ({ item }) => item,
        });
      }),
    );
