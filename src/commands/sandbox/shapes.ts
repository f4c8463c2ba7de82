import { command } from '../../cli/command.ts';
import { type Column, listResult } from '../../output/command-result.ts';

const COLUMNS: readonly Column<{ readonly name: string; readonly description: string }>[] = [
  { header: 'SHAPE', value: ({ name }) => name },
  { header: 'DESCRIPTION', value: ({ description }) => description, fit: 'below' },
];

export default command({
  description:
    'Lists the shapes of responses that the sandbox can use: dialects with the names, pages, histories, errors, or statuses of other services.',
  columns: COLUMNS,
  output: async () => (await import('../../output-schemas/sandbox.ts')).SANDBOX_SHAPES,
  exits: [],
  examples: [{ line: 'partnerctl sandbox shapes', does: 'list all shapes' }],
  parse: () => undefined,
  async run() {
    const { SHAPES } = await import('../../sandbox/shapes/shapes.ts');
    const items = SHAPES.map(({ name, description }) => ({ name, description }));
    return listResult(items, COLUMNS, { empty: 'There are no shapes.' });
  },
});
