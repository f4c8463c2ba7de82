import { LocalError } from '../errors.ts';
import { type Log, type LogEntry, repairHint } from './log.ts';

/** What a state holds, with the numbers of the lines that are not ordinary records. */
export interface Verified {
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

/** Reads every line of a state. @throws LocalError if it cannot be read */
export async function verify(log: Log): Promise<Verified> {
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

/** Returns a warning for each line that cannot be used. @param label of the state */
export function damageWarnings(entries: readonly LogEntry[], label: string): readonly string[] {
  const damaged = entries.filter((entry) => entry.kind === 'damaged');
  return damaged.map(({ line, why }) => `${label}:${line} cannot be used: ${why}`);
}

/** The error for a state with lines that cannot be used. @returns undefined if it has none */
export function damageError({ path, damaged, sound }: Verified): LocalError | undefined {
  if (sound) return undefined;
  return new LocalError(`The state has lines that cannot be used: ${path}`, {
    why: `${damaged.length} ${damaged.length === 1 ? 'line' : 'lines'} cannot be used. Nothing is created until they are repaired.`,
    hint: [...new Set(damaged.map(({ why }) => repairHint(why)))].join('\n'),
    details: { damaged },
  });
}
