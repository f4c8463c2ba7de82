import { stat } from 'node:fs/promises';
import { LocalError } from '../errors.ts';
import type { StateLocation } from './location.ts';
import type { Log } from './log.ts';

/** The condition of the place where the state is kept. */
export interface Inspection {
  readonly exists: boolean;
  /** The size of a file; null for other places. */
  readonly bytes: number | null;
  readonly writable: boolean;
  /** Why it cannot be used; null if it can. */
  readonly problem: string | null;
  /** What to do about it. */
  readonly hint: string | null;
}

async function look(log: Log, { kind, path }: StateLocation): Promise<Inspection> {
  await log.check();
  const size = kind === 'file' ? await stat(path).catch(() => undefined) : undefined;
  const exists = kind === 'file' ? size !== undefined : (await log.inspect()) !== undefined;
  return { exists, bytes: size?.size ?? null, writable: true, problem: null, hint: null };
}

/** Finds out whether a state exists and can be written. A place that cannot be used is an answer, not an error. */
export async function checkPlace(openLog: () => Promise<Log>, location: StateLocation): Promise<Inspection> {
  try {
    return await look(await openLog(), location);
  } catch (error) {
    if (!(error instanceof LocalError)) throw error;
    const { why, hint } = error.info;
    return { exists: false, bytes: null, writable: false, problem: why ?? error.message, hint: hint ?? null };
  }
}
