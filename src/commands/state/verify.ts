import { leaf, run, STATE_EXITS } from '../../cli/leaf.ts';
import type { Verified } from '../../state/verify.ts';

/** The lines of the report, with the numbers of the lines of the state in order. */
function reportLines(verified: Verified): readonly string[] {
  const { path, exists, records, torn, damaged, sound } = verified;
  const lines = [
    ...torn.map((line) => ({ line, why: 'left incomplete by a run that was killed; it is ignored' })),
    ...damaged,
  ].toSorted((a, b) => a.line - b.line);
  return [
    path,
    exists ? `records: ${records}` : 'there is no state yet',
    ...lines.map(({ line, why }) => `line ${line}: ${why}`),
    sound ? 'all lines can be used' : 'not all lines can be used',
  ];
}

export const verify = () =>
  leaf('verify', 'Check every line of the state', {
    description:
      'Reads every line of the state and lists those that cannot be used, each with the reason. Exits with 1 if there are any. Lines that a killed run left incomplete are harmless.',
    exits: STATE_EXITS,
    examples: [
      'partnerctl state verify  # check the state',
      'partnerctl state verify --state merged.jsonl -o json  # check a merged copy, for a script',
    ],
  }).action(
    run(async (context) => {
      const { damageError, verify } = await import('../../state/verify.ts');
      const { textResult } = await import('./shared/text-result.ts');
      const verified = await verify(await context.log());
      const failure = damageError(verified);
      return { ...textResult(verified, reportLines(verified)), ...(failure && { failure }) };
    }),
  );
