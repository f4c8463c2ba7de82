import { command, STATE_EXITS } from '../../cli/command.ts';
import { LocalError } from '../../errors.ts';
import { objectResult } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { readStore, type StateStore } from '../../state/store.ts';
import { type UnusableLine, unusableLine } from '../../state/unusable-lines.ts';

/** What a state file holds, with the numbers of the lines that are not ordinary records. */
interface Audit {
  /** How many records there are of each type. */
  readonly records: Readonly<Record<string, number>>;
  /** Lines that repeat an earlier one, as a union merge leaves them. Each record counts once. */
  readonly duplicates: readonly number[];
  /** Lines in a format that a later version of this program writes. */
  readonly newer: readonly { readonly line: number; readonly version: number }[];
  readonly damaged: readonly UnusableLine[];
  /** The lines that cannot be used, in the order of the file. */
  readonly unusable: readonly UnusableLine[];
}

interface Verified extends Omit<Audit, 'unusable'> {
  readonly path: string;
  readonly exists: boolean;
  readonly sound: boolean;
}

async function auditLog(store: StateStore): Promise<Audit> {
  const counts = new Map<string, number>();
  const duplicates: number[] = [];
  const newer: { line: number; version: number }[] = [];
  const damaged: UnusableLine[] = [];
  const unusable: UnusableLine[] = [];
  for await (const entry of readStore(store)) {
    const { line } = entry;
    unusable.push(...[unusableLine(entry)].filter((each) => each !== undefined));
    if (entry.kind === 'record') counts.set(entry.record.type, (counts.get(entry.record.type) ?? 0) + 1);
    else if (entry.kind === 'duplicate') duplicates.push(line);
    else if (entry.kind === 'newer') newer.push({ line, version: entry.version });
    else damaged.push({ line, why: entry.why });
  }
  // Object.fromEntries, because a type may be called `__proto__`.
  return { records: Object.fromEntries(counts), duplicates, newer, damaged, unusable };
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
function formatReport(verified: Verified, unusable: readonly UnusableLine[]): string {
  const { path, duplicates, sound } = verified;
  const repeats = duplicates.map((line) => ({ line, why: 'the same record as on an earlier line; it counts once' }));
  const lines = [...repeats, ...unusable].toSorted((a, b) => a.line - b.line);
  return [
    path,
    formatRecordCounts(verified),
    ...(duplicates.length > 0 ? [formatCount(duplicates.length, 'duplicate')] : []),
    ...lines.map(({ line, why }) => `line ${line}: ${why}`),
    sound ? 'all lines can be used' : 'not all lines can be used',
  ]
    .map((line) => `${sanitizeLine(line)}\n`)
    .join('');
}

function adviceFor({ newer, damaged }: Pick<Audit, 'newer' | 'damaged'>): string {
  const isMarker = ({ why }: { readonly why: string }): boolean => why === 'a merge conflict marker';
  const advice: string[] = [];
  if (damaged.some(isMarker)) {
    advice.push('Remove only the merge conflict markers: the records of both sides belong in the file.');
  }
  if (!damaged.every(isMarker)) {
    advice.push(
      'Restore the complete lines from a copy or from git. A line that a killed run left incomplete may be removed. All intact lines still count.',
    );
  }
  if (newer.length > 0) advice.push('Update partnerctl: a newer version wrote some of the records.');
  return advice.join('\n');
}

function damageError({ path, newer, damaged, sound }: Verified): LocalError | undefined {
  if (sound) return undefined;
  return new LocalError(`The state has lines that cannot be used: ${path}`, {
    why: [
      ...(damaged.length > 0 ? [`${formatCount(damaged.length, 'line')} cannot be used.`] : []),
      ...(newer.length > 0
        ? [`${formatCount(newer.length, 'record')} came from a newer version of this program.`]
        : []),
    ].join('\n'),
    hint: adviceFor({ newer, damaged }),
    details: { newer, damaged },
  });
}

export default command({
  description:
    'Reads every line of the state and lists those that cannot be used, each with the reason. Exits with 1 if there are any. Lines that a merge repeated are harmless.',
  output: async () => (await import('../../output-schemas/state.ts')).STATE_VERIFY,
  exits: STATE_EXITS,
  examples: [
    { line: 'partnerctl state verify', does: 'check the state' },
    { line: 'partnerctl state verify --state merged.jsonl -o json', does: 'check a merged copy, for a script' },
  ],
  parse: () => undefined,
  async run(context) {
    const store = await context.stateStore();
    const exists = await store.exists();
    const { unusable, ...audit } = await auditLog(store);
    const sound = unusable.length === 0;
    const verified: Verified = { path: store.label, exists, ...audit, sound };
    const failure = damageError(verified);
    const text = formatReport(verified, unusable);
    return { ...objectResult(verified, []), text, isWrapped: true, ...(failure && { failure }) };
  },
});
