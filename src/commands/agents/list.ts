import { leaf, run, SERVICE_EXITS } from '../../cli/leaf.ts';
import { SPACE_HELP } from '../../cli/options.ts';
import type { ListedAgent } from '../../contract/agents.ts';
import type { JsonObject } from '../../contract/json.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { type Column, listResult } from '../../output/command-result.ts';

interface AgentRow extends ListedAgent {
  readonly item: JsonObject;
}

const COLUMNS: readonly Column<AgentRow>[] = [
  { header: 'AGENT', value: ({ agent_id }) => agent_id, fit: 'middle' },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'TEMPLATE', value: ({ template_id }) => template_id, fit: 'middle' },
];

export const list = () =>
  leaf('list', 'List the agents of a space', {
    scopes: [SCOPE.readAgents, SCOPE.readSpaces],
    exits: SERVICE_EXITS,
    examples: [
      ['partnerctl agents list ext:acme-001', 'list the agents of the space with this external id'],
      ["partnerctl agents list 'name:Acme' -o json", 'find the space by name; print JSON'],
    ],
  })
    .argument('<space>', SPACE_HELP)
    .action(
      run(async (context, space) => {
        const { listAgentRows } = await import('../../spaces/list.ts');
        const http = await context.http();
        context.progress.start('Listing agents');
        return listResult(await listAgentRows(http, space), COLUMNS, {
          empty: 'The space has no agents.',
          json: ({ item }) => item,
        });
      }),
    );
