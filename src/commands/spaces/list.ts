import { listSpaces } from '../../api/spaces.ts';
import { command } from '../../cli/command.ts';
import type { JsonObject } from '../../contract/json.ts';
import { findField, findId, findText } from '../../contract/plain-fields.ts';
import { type Column, listResult } from '../../output/command-result.ts';

function orgWide(space: JsonObject): string {
  const value = findField(space, 'space', 'is_org_wide');
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : '';
}

const COLUMNS: readonly Column<JsonObject>[] = [
  { header: 'SPACE', value: (space) => findId(space, 'space'), noTruncate: true },
  { header: 'EXTERNAL ID', value: (space) => findText(space, 'space', 'external_space_id'), noTruncate: true },
  { header: 'NAME', value: (space) => findText(space, 'space', 'name') },
  { header: 'DESCRIPTION', value: (space) => findText(space, 'space', 'description'), tone: () => 'dim' },
  { header: 'ORG-WIDE', value: orgWide },
];

export default command({
  description: 'Lists the customer workspaces (spaces) that the token can access.',
  examples: [
    { line: 'partnerctl spaces list', does: 'list all spaces' },
    { line: "partnerctl spaces list -o json --query '[].space_id'", does: 'print their ids as JSON' },
  ],
  parse: () => undefined,
  async run(context) {
    const http = await context.http();
    context.progress.start('Listing spaces');
    return listResult(listSpaces(http), COLUMNS, { empty: 'The token can access no spaces.' });
  },
});
