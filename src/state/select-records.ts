import { UsageError } from '../errors.ts';
import type { LogEntry } from './log.ts';
import type { LogRecord } from './record.ts';

/** A record and the line that holds it. */
export interface NumberedRecord {
  readonly line: number;
  readonly record: LogRecord;
}

/** The types of records, without what follows their first dot. */
const FAMILIES = ['space', 'cron', 'upload'];

function isOfType(type: string, wanted: string): boolean {
  return type === wanted || type.startsWith(`${wanted}.`);
}

/**
 * Returns the records of a type, or of one of its subtypes, and of a key.
 * @param type such as `space`, `cron`, or `cron.created`
 * @throws UsageError if the type is none of the state, and no known one
 */
export function selectRecords(
  entries: readonly LogEntry[],
  { type, key }: { readonly type?: string | undefined; readonly key?: string | undefined },
): readonly NumberedRecord[] {
  const records = entries.flatMap((entry) => (entry.kind === 'record' ? [entry] : []));
  const types = [...new Set([...FAMILIES, ...records.map(({ record }) => record.type)])];
  if (type !== undefined && !types.some((each) => isOfType(each, type))) {
    const hint = `Use one of: ${types.join(', ')}.`;
    throw new UsageError(`No record has the type ${JSON.stringify(type)}.`, { hint });
  }
  return records.filter(
    ({ record }) => (type === undefined || isOfType(record.type, type)) && (key === undefined || record.key === key),
  );
}
