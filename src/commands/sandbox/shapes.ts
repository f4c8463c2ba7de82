import { command } from '../../cli/command.ts';
import { listResult } from '../../output/command-result.ts';

export default command({
  description:
    'Lists the shapes that the sandbox can answer in: dialects with other names, pages, histories, errors, or statuses, as other services have them.',
  examples: [{ line: 'partnerctl sandbox shapes', does: 'list all shapes' }],
  parse: () => undefined,
  async run() {
    const { SHAPES } = await import('../../sandbox/shapes/shapes.ts');
    const items = SHAPES.map(({ name, description }) => ({ name, description }));
    return listResult(
      items,
      [
        { header: 'SHAPE', value: ({ name }) => name, noTruncate: true },
        { header: 'DESCRIPTION', value: ({ description }) => description },
      ],
      { empty: 'There are no shapes.' },
    );
  },
});
