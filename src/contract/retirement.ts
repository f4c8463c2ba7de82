import { isJsonObject, type JsonObject } from './json.ts';

/** What shows that the service has deleted or archived a resource that it still lists. */
export interface Retirement {
  readonly field: string;
  readonly value: unknown;
}

const TIMES = ['deleted_at', 'deletedAt', 'archived_at', 'archivedAt'];
const FLAGS = ['deleted', 'is_deleted', 'isDeleted', 'archived', 'is_archived', 'isArchived'];
const STATES = ['status', 'state'];

/** Whether a field holds a time. Some services write a zero for none: 0, or the first day of the calendar. */
function isTime(value: unknown): boolean {
  return typeof value === 'number' ? value > 0 : typeof value === 'string' && !/^(?:0*$|000[01]-)/.test(value);
}

function isEnd(state: unknown): boolean {
  return typeof state === 'string' && /^(?:soft[_-]?)?(?:deleted|archived)$/i.test(state);
}

/** Finds the field that shows a retirement. Looks up a few keys only: lists may have 100,000 objects. */
export function findRetirement(object: JsonObject): Retirement | undefined {
  for (const place of [object, object.attributes].filter(isJsonObject)) {
    const field =
      TIMES.find((key) => isTime(place[key])) ??
      FLAGS.find((key) => place[key] === true) ??
      STATES.find((key) => isEnd(place[key]));
    if (field !== undefined) return { field, value: place[field] };
  }
  return undefined;
}
