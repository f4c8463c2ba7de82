import { deferred, defineCommand } from '../../cli/command.ts';
import { LocalError, STATE_EXITS } from '../../errors.ts';
import { reportResult } from '../../output/command-result.ts';
import type { LogContent } from '../../state/log.ts';

function reportLines(path: string, { exists, records, torn, damaged }: LogContent): readonly string[] {
  const lines = [
    ...torn.map((line) => ({ line, why: 'left incomplete by a run that was killed; it is ignored' })),
    ...damaged,
  ].toSorted((a, b) => a.line - b.line);
  return [
    path,
    exists ? `records: ${records.length}` : 'there is no state yet',
    ...lines.map(({ line, why }) => `line ${line}: ${why}`),
    damaged.length === 0 ? 'all lines can be used' : 'not all lines can be used',
  ];
}

export const verify = () =>
  defineCommand('verify', 'Check every line of the state', {
    description: 'Exits with 1 if a line cannot be used. Lines that a killed run left incomplete are harmless.',
    exits: [...STATE_EXITS, 'notFound'],
    json: '{path, exists, records, torn, damaged: [{line, why}], sound}',
    examples: [
      'partnerctl state verify  # check the state',
      'partnerctl state verify --state merged.jsonl -o json  # check a merged copy, for a script',
      "partnerctl state verify -o json --query 'torn[].line'  # lines that killed runs left incomplete",
    ],
  }).action(
    deferred(async (context) => {
      const { REPAIR_HINT } = await import('../../state/log.ts');
      const log = await context.log();
      const { label: path } = log;
      const content = await log.inspect();
      const { exists, records, torn, damaged } = content;
      const sound = damaged.length === 0;
      const verified = { path, exists, records: records.length, torn, damaged, sound };
      const lines = reportLines(path, content).map((text) => ({ indent: 0, text }));
      const failure = new LocalError(`The state has lines that cannot be used: ${path}`, {
        why: `Lines: ${damaged.length}. Nothing is created until they are repaired.`,
        hint: REPAIR_HINT,
        details: { damaged },
      });
      return { ...reportResult(verified, lines), failure: sound ? undefined : failure };
    }),
  );
