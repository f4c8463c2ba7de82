import { readItem } from '../../api/api-response.ts';
import { listAgents } from '../../api/calls.ts';
import type { Http } from '../../api/http.ts';
import { parseReference, resolveSpaceId } from '../../api/references.ts';
import { SPACE_DESCRIPTION } from '../../cli/agent-args.ts';
import { command, SERVICE_EXITS } from '../../cli/command.ts';
import { type ListedAgent, readAgent } from '../../contract/agents.ts';
import type { JsonObject } from '../../contract/json.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { type Column, listResult } from '../../output/command-result.ts';
import type { Paged } from '../../output/paged.ts';

interface AgentRow extends ListedAgent {
  readonly item: JsonObject;
}

const COLUMNS: readonly Column<AgentRow>[] = [
  { header: 'AGENT', value: ({ agent_id }) => agent_id },
  { header: 'NAME', value: ({ name }) => name },
  { header: 'TEMPLATE', value: ({ template_id }) => template_id },
];

function readRows(http: Http, spaceId: string): Paged<AgentRow> {
  return listAgents(http, spaceId).map((item) => ({
    ...readItem(OPERATIONS.listAgents, () => readAgent(item, http.contract)),
    item,
  }));
}

export default command({
  description: 'Lists the agents of a space.',
  args: [{ usage: '<space>', description: SPACE_DESCRIPTION }],
  columns: COLUMNS,
  scopes: [SCOPE.readAgents, SCOPE.readSpaces],
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl agents list ext:acme-001', does: 'list the agents of the space with this external id' },
    { line: "partnerctl agents list 'name:Acme' -o json", does: 'find the space by name; print JSON' },
  ],
  parse: ({ positionals }) => ({ space: parseReference(positionals[0] ?? '') }),
  async run(context, { space }) {
    const http = await context.http();
    context.progress.start('Listing agents');
    const spaceId = await resolveSpaceId(http, space);
    return listResult(readRows(http, spaceId), COLUMNS, {
      empty: 'The space has no agents.',
      json: ({ item }) => item,
    });
  },
});
