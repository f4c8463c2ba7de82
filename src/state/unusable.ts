import type { LogEntry } from './log.ts';

/** A line of the state file that could not be used, for a warning. */
export interface UnusableLine {
  readonly line: number;
  readonly why: string;
}

/** What there is to say of an entry that is no record and not the repeat of one; undefined for those. */
export function unusableLine(entry: LogEntry): UnusableLine | undefined {
  if (entry.kind === 'damaged') return { line: entry.line, why: entry.why };
  if (entry.kind === 'newer') {
    return { line: entry.line, why: `written by a newer version of this program (format ${entry.version})` };
  }
  return undefined;
}
