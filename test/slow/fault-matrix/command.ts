import type { Meaning } from './fault.ts';
import type { World } from './world.ts';

/** Exit codes by the meaning of a fault. */
export type CodesByMeaning = Partial<Record<Meaning, readonly number[]>>;

/** A command line of the matrix: one row of the table. */
export interface MatrixCommand {
  readonly name: string;
  readonly argv: (world: World) => readonly string[];
  readonly stdin?: string;
  /** Files in the home directory, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** A command line that runs before it; with `loses`, the response to its last request is lost. */
  readonly after?: { readonly argv: (world: World) => readonly string[]; readonly loses?: true };
  /** A message arrives once stdout has `arrival` lines, and Ctrl-C at `interrupt` lines. */
  readonly follows?: { readonly arrival: number; readonly interrupt: number };
  /** Whether it has several items, of which some can fail (exit code 10). */
  readonly hasItems?: true;
  /** Exit codes of faults of reads, if they differ from those of any read. */
  readonly reads?: CodesByMeaning;
  /** Exit codes of faults of writes, if they differ from those of any write. */
  readonly writes?: CodesByMeaning;
  /** Whether lists guard against doing it twice: they may be stale for a few seconds, but not forever. */
  readonly isGuardedByLists?: true;
  /** The objects that it adds at the service, each once. */
  readonly adds?: readonly string[];
  /** The text that stdout contains exactly once after success, except with faults of these meanings: then it may be missing. */
  readonly shows?: readonly string[];
  readonly showsLess?: readonly Meaning[];
  /** A separate time limit, for a command that waits for as long as it may. */
  readonly timeoutMs?: number;
  /** The exit code of a repeat without faults after success: 0 by default, 5 if the repeat is blocked. */
  readonly repeatExits?: 5;
  /** Whether a repeat would register a message again once the first one was acknowledged. */
  readonly repeatsMessages?: true;
  /** The command line that settles an unknown outcome, so that the next run is not blocked. */
  readonly settle?: readonly string[];
}
