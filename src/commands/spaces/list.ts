import type { SpaceRow } from '../../api/space-rows.ts';
import type { KnownId } from '../../cli/known-ids.ts';
import { leaf, run, SERVICE_EXITS } from '../../cli/leaf.ts';
import { SCOPE } from '../../contract/scopes.ts';
import { type Column, listResult } from '../../output/command-result.ts';

/** `yes` or `no`; a value that is not a boolean is shown unchanged. */
function formatOrgWide({ space: { is_org_wide } }: SpaceRow): string | undefined {
  return typeof is_org_wide === 'boolean' ? (is_org_wide ? 'yes' : 'no') : is_org_wide;
}

/** What completion offers: the id, and with their prefixes the external id and the name. */
function toKnownIds({ space: { space_id, external_space_id, name } }: SpaceRow): readonly KnownId[] {
  const aliases = [external_space_id ? [`ext:${external_space_id}`] : [], name ? [`name:${name}`] : []].flat();
  return [{ kind: 'space', value: space_id, description: name ?? '', aliases }];
}

const COLUMNS: readonly Column<SpaceRow>[] = [
  { header: 'SPACE', value: ({ space }) => space.space_id },
  { header: 'EXTERNAL ID', value: ({ space }) => space.external_space_id },
  { header: 'NAME', value: ({ space }) => space.name },
  { header: 'DESCRIPTION', value: ({ space }) => space.description, tone: () => 'dim', fit: 'end', isOptional: true },
  { header: 'ORG-WIDE', value: formatOrgWide, isOptional: true },
];

export const list = () =>
  leaf('list', 'List the spaces that the token can access', {
    description: 'Lists the customer workspaces (spaces) that the token can access.',
    scopes: [SCOPE.readSpaces],
    exits: SERVICE_EXITS,
    examples: [
      ['partnerctl spaces list', 'list all spaces'],
      ["partnerctl spaces list -o json --query '[].space_id'", 'print their ids as JSON'],
    ],
  }).action(
    run(async (context) => {
      const [{ listSpaceRows }, { rememberIds }] = await Promise.all([
        import('../../api/space-rows.ts'),
        import('../../cli/known-ids.ts'),
      ]);
      const http = await context.http();
      context.progress.start('Listing spaces');
      return listResult(rememberIds(context, listSpaceRows(http), { kinds: ['space'] }, toKnownIds), COLUMNS, {
        empty: 'There are no spaces that the token can access.',
        json: ({ item }) => item,
      });
    }),
  );
