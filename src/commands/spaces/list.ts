import { readItem } from '../../api/api-response.ts';
import { listSpaces } from '../../api/calls.ts';
import type { Http } from '../../api/http.ts';
import { command, SERVICE_EXITS } from '../../cli/command.ts';
import type { JsonObject } from '../../contract/json.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { type ListedSpace, readSpace } from '../../contract/spaces.ts';
import { type Column, listResult } from '../../output/command-result.ts';
import type { Paged } from '../../output/paged.ts';

interface SpaceRow {
  readonly space: ListedSpace;
  readonly item: JsonObject;
}

/** `yes` or `no`; a value that is not a boolean is shown unchanged. */
function formatOrgWide({ space: { is_org_wide } }: SpaceRow): string | undefined {
  return typeof is_org_wide === 'boolean' ? (is_org_wide ? 'yes' : 'no') : is_org_wide;
}

const COLUMNS: readonly Column<SpaceRow>[] = [
  { header: 'SPACE', value: ({ space }) => space.space_id },
  { header: 'EXTERNAL ID', value: ({ space }) => space.external_space_id },
  { header: 'NAME', value: ({ space }) => space.name },
  { header: 'DESCRIPTION', value: ({ space }) => space.description, tone: () => 'dim', fit: 'end', isOptional: true },
  { header: 'ORG-WIDE', value: formatOrgWide, isOptional: true },
];

function readRows(http: Http): Paged<SpaceRow> {
  return listSpaces(http).map((item) => ({
    space: readItem(OPERATIONS.listSpaces, () => readSpace(item, http.contract)),
    item,
  }));
}

export default command({
  description: 'Lists the customer workspaces (spaces) that the token can access.',
  columns: COLUMNS,
  scopes: [SCOPE.readSpaces],
  exits: SERVICE_EXITS,
  examples: [
    { line: 'partnerctl spaces list', does: 'list all spaces' },
    { line: "partnerctl spaces list -o json --query '[].space_id'", does: 'print their ids as JSON' },
  ],
  parse: () => undefined,
  async run(context) {
    const http = await context.http();
    context.progress.start('Listing spaces');
    return listResult(readRows(http), COLUMNS, {
      empty: 'There are no spaces that the token can access.',
      json: ({ item }) => item,
    });
  },
});
