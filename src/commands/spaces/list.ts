import { deferred, defineCommand } from '../../cli/command.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import type { ListedSpace } from '../../contract/resources.ts';
import { type Column, listResult } from '../../output/command-result.ts';

function formatOrgWide({ is_org_wide }: ListedSpace): string | undefined {
  return typeof is_org_wide === 'boolean' ? (is_org_wide ? 'yes' : 'no') : is_org_wide;
}

const COLUMNS: readonly Column<ListedSpace>[] = [
  { header: 'NAME', value: ({ name }) => name, fit: 'end' },
  { header: 'EXTERNAL ID', value: ({ external_space_id }) => external_space_id },
  { header: 'SPACE', value: ({ space_id }) => space_id },
  { header: 'DESCRIPTION', value: ({ description }) => description, tone: () => 'dim', fit: 'end', isOptional: true },
  { header: 'ORG-WIDE', value: formatOrgWide, isOptional: true },
];

export const list = () =>
  defineCommand('list', 'List the customer workspaces (spaces) that the token can access', {
    scopes: [OPERATIONS.listSpaces.scope],
    json: '[{space_id?, external_space_id?, name?, …}], as the service sends them',
    examples: [
      'partnerctl spaces list  # list all spaces',
      'partnerctl spaces list --wide  # with descriptions, shortened nowhere',
      "partnerctl spaces list -o json --query '[].space_id'  # print their ids as JSON",
    ],
  }).action(
    deferred(async (context) => {
      const { listSpaces } = await import('../../api/calls.ts');
      const { rememberIds } = await import('../../cli/completion-ids.ts');
      const http = await context.http();
      context.progress.start('Listing spaces');
      return listResult(rememberIds(context, 'space', listSpaces(http, 'show')), COLUMNS, {
        empty: 'There are no spaces that the token can access.',
        json: ({ item }) => item,
      });
    }),
  );
