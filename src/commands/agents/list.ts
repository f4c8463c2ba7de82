import { parseReference, resolveSpaceId } from '../../api/references.ts';
import { listAgents } from '../../api/spaces.ts';
import { command } from '../../cli/command.ts';
import type { JsonObject } from '../../contract/json.ts';
import { findId, findText } from '../../contract/plain-fields.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const COLUMNS: readonly Column<JsonObject>[] = [
  { header: 'AGENT', value: (agent) => findId(agent, 'agent'), noTruncate: true },
  { header: 'NAME', value: (agent) => findText(agent, 'agent', 'name') },
  { header: 'TEMPLATE', value: (agent) => findText(agent, 'agent', 'template_id') },
];

export default command({
  description: 'Lists the agents of a space.',
  args: [{ usage: '<space>', description: 'a space_id, ext:<external_space_id>, or name:<name>' }],
  examples: [
    { line: 'partnerctl agents list ext:acme-001', does: 'list the agents of the space with this external id' },
    { line: "partnerctl agents list 'name:Acme' -o json", does: 'find the space by name; print JSON' },
  ],
  parse: ({ positionals }) => ({ space: parseReference(positionals[0] ?? '') }),
  async run(context, { space }) {
    const http = await context.http();
    context.progress.start('Listing agents');
    const spaceId = await resolveSpaceId(http, space);
    return listResult(listAgents(http, spaceId), COLUMNS, { empty: 'The space has no agents.' });
  },
});
