import { command, STATE_EXITS } from '../../cli/command.ts';
import { LocalError } from '../../errors.ts';
import { objectResult } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { type Log, repairHint } from '../../state/log.ts';

/** What a state holds, with the numbers of the lines that are not ordinary records. */
interface Verified {
  readonly path: string;
  readonly exists: boolean;
  /** How many records there are of each type. */
  readonly records: Readonly<Record<string, number>>;
  /** Lines that repeat an earlier one. Each record counts once. */
  readonly duplicates: readonly number[];
  /** Lines that a killed run left incomplete. Nothing was sent on their account. */
  readonly torn: readonly number[];
  readonly damaged: readonly { readonly line: number; readonly why: string }[];
  readonly sound: boolean;
}

async function verify(log: Log): Promise<Verified> {
  const entries = await log.inspect();
  const counts = new Map<string, number>();
  const [duplicates, torn]: [number[], number[]] = [[], []];
  const damaged: { line: number; why: string }[] = [];
  for (const entry of entries ?? []) {
    const { line } = entry;
    if (entry.kind === 'record') counts.set(entry.record.type, (counts.get(entry.record.type) ?? 0) + 1);
    else if (entry.kind === 'duplicate') duplicates.push(line);
    else if (entry.kind === 'torn') torn.push(line);
    else damaged.push({ line, why: entry.why });
  }
  const base = { path: log.label, exists: entries !== undefined, duplicates, torn, damaged };
  // Object.fromEntries, because a type may be called `__proto__`.
  return { ...base, records: Object.fromEntries(counts), sound: damaged.length === 0 };
}

function formatCount(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

function formatRecordCounts({ exists, records }: Verified): string {
  if (!exists) return 'there is no file yet';
  const types = Object.entries(records).map(([type, count]) => `${count} ${type}`);
  const all = Object.values(records).reduce((sum, count) => sum + count, 0);
  return `${formatCount(all, 'record')}${types.length > 0 ? `: ${types.join(', ')}` : ''}`;
}

/** Formats the report, with line numbers in order. */
function formatReport(verified: Verified): string {
  const { path, duplicates, torn, damaged, sound } = verified;
  const lines = [
    ...duplicates.map((line) => ({ line, why: 'the same record as on an earlier line; it counts once' })),
    ...torn.map((line) => ({ line, why: 'left incomplete by a run that was killed; it is ignored' })),
    ...damaged,
  ].toSorted((a, b) => a.line - b.line);
  return [
    path,
    formatRecordCounts(verified),
    ...lines.map(({ line, why }) => `line ${line}: ${why}`),
    sound ? 'all lines can be used' : 'not all lines can be used',
  ]
    .map((line) => `${sanitizeLine(line)}\n`)
    .join('');
}

function damageError({ path, damaged, sound }: Verified): LocalError | undefined {
  if (sound) return undefined;
  return new LocalError(`The state has lines that cannot be used: ${path}`, {
    why: `${formatCount(damaged.length, 'line')} cannot be used. Nothing is created until they are repaired.`,
    hint: [...new Set(damaged.map(({ why }) => repairHint(why)))].join('\n'),
    details: { damaged },
  });
}

export default command({
  description:
    'Reads every line of the state and lists those that cannot be used, each with the reason. Exits with 1 if there are any. Lines that a merge repeated, or that a killed run left incomplete, are harmless.',
  exits: STATE_EXITS,
  examples: [
    { line: 'partnerctl state verify', does: 'check the state' },
    { line: 'partnerctl state verify --state merged.jsonl -o json', does: 'check a merged copy, for a script' },
  ],
  parse: () => undefined,
  async run(context) {
    const verified = await verify(await context.log());
    const failure = damageError(verified);
    const text = formatReport(verified);
    return { ...objectResult(verified, []), text, isWrapped: true, ...(failure && { failure }) };
  },
});
