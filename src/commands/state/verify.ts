import { command } from '../../cli/command.ts';
import { LocalError } from '../../errors.ts';
import { objectResult } from '../../output/command-result.ts';
import { sanitizeLine } from '../../output/sanitize.ts';
import { type Audit, auditLog } from '../../state/audit.ts';
import { countCheckpointFiles } from '../../state/checkpoint-file.ts';
import { findStateFile } from '../../state/presence.ts';
import { unusableLine } from '../../state/unusable.ts';

interface Verified extends Audit {
  readonly path: string;
  readonly exists: boolean;
  /** How many sessions left their place beside the file. */
  readonly tails: number;
  readonly sound: boolean;
}

function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

function recordLine({ exists, records }: Verified): string {
  if (!exists) return 'there is no file yet';
  const types = Object.entries(records).map(([type, count]) => `${count} ${type}`);
  const all = Object.values(records).reduce((sum, count) => sum + count, 0);
  return `${counted(all, 'record')}${types.length > 0 ? `: ${types.join(', ')}` : ''}`;
}

/** The whole report as lines, the numbered ones in the order of the file. */
function textOf(verified: Verified): string {
  const { path, duplicates, newer, damaged, tails, sound } = verified;
  const repeats = duplicates.map((line) => ({ line, why: 'the same record as on an earlier line; it counts once' }));
  const later = newer.flatMap((entry) => unusableLine({ kind: 'newer', ...entry }) ?? []);
  const lines = [...repeats, ...later, ...damaged].toSorted((a, b) => a.line - b.line);
  return [
    path,
    recordLine(verified),
    ...(duplicates.length > 0 ? [counted(duplicates.length, 'duplicate')] : []),
    ...lines.map(({ line, why }) => `line ${line}: ${why}`),
    ...(tails > 0 ? [`${counted(tails, 'tail')} beside it`] : []),
    sound ? 'sound' : 'not sound',
  ]
    .map((line) => `${sanitizeLine(line)}\n`)
    .join('');
}

function adviceOn({ newer, damaged }: Pick<Audit, 'newer' | 'damaged'>): string {
  const isMarker = ({ why }: { readonly why: string }): boolean => why === 'a merge conflict marker';
  const advice: string[] = [];
  if (damaged.some(isMarker)) {
    advice.push('Remove the merge conflict markers alone: the records of both sides belong in the file.');
  }
  if (!damaged.every(isMarker)) {
    advice.push(
      'Add the whole lines back from a copy or from git if there is one; a line that a killed run tore may be removed. All sound lines count as before.',
    );
  }
  if (newer.length > 0) advice.push('Update partnerctl to read what a newer version wrote.');
  return advice.join('\n');
}

function failureOf({ path, newer, damaged, sound }: Verified): LocalError | undefined {
  if (sound) return undefined;
  return new LocalError(`The state file is not sound: ${path}`, {
    why: [
      ...(damaged.length > 0 ? [`${counted(damaged.length, 'line')} cannot be used.`] : []),
      ...(newer.length > 0 ? [`${counted(newer.length, 'record')} came from a newer version of this program.`] : []),
    ].join('\n'),
    hint: adviceOn({ newer, damaged }),
    details: { newer, damaged },
  });
}

export default command({
  description:
    'Reads every line of the state file and names those that cannot be used, each with the reason. Ends with 1 where there is one; lines that a merge repeats do no harm.',
  examples: [
    { line: 'partnerctl state verify', does: 'check the state file' },
    { line: 'partnerctl state verify --state merged.jsonl -o json', does: 'check a merged copy, for a script' },
  ],
  parse: () => undefined,
  async run(context) {
    const path = await context.statePath();
    const exists = (await findStateFile(path)) !== undefined;
    const audit = await auditLog(path);
    const sound = audit.newer.length === 0 && audit.damaged.length === 0;
    const verified: Verified = { path, exists, ...audit, tails: await countCheckpointFiles(path), sound };
    const failure = failureOf(verified);
    return { ...objectResult(verified, []), text: textOf(verified), ...(failure && { failure }) };
  },
});
