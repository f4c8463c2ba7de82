import { LocalError } from '../errors.ts';
import { type Log, repairHint } from './log.ts';

/** What a state holds, with the numbers of the lines that are not ordinary records. */
export interface Verified {
  readonly path: string;
  readonly exists: boolean;
  /** How many records there are. */
  readonly records: number;
  /** Lines that a killed run left incomplete. Nothing was sent on their account. */
  readonly torn: readonly number[];
  readonly damaged: readonly { readonly line: number; readonly why: string }[];
  readonly sound: boolean;
}

/** Reads every line of a state. @throws LocalError if it cannot be read */
export async function verify(log: Log): Promise<Verified> {
  const read = await log.inspect();
  const entries = read ?? [];
  const damaged = entries.flatMap((entry) => (entry.kind === 'damaged' ? [{ line: entry.line, why: entry.why }] : []));
  return {
    path: log.label,
    exists: read !== undefined,
    records: entries.filter(({ kind }) => kind === 'record').length,
    torn: entries.filter(({ kind }) => kind === 'torn').map(({ line }) => line),
    damaged,
    sound: damaged.length === 0,
  };
}

/** The error for a state with lines that cannot be used. @returns undefined if it has none */
export function damageError({ path, damaged, sound }: Verified): LocalError | undefined {
  if (sound) return undefined;
  return new LocalError(`The state has lines that cannot be used: ${path}`, {
    why: `Lines: ${damaged.length}. Nothing is created until they are repaired.`,
    hint: [...new Set(damaged.map(({ why }) => repairHint(why)))].join('\n'),
    details: { damaged },
  });
}
