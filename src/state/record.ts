import { hash, randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../contract/json.ts';

/*
 * A record is one line of JSON (design §6). It begins with its version and its length, and ends with a checksum of
 * everything before it:
 *
 *   {"v":2,"bytes":<length of what follows the comma>,"type":…,"at":…,"id":…,…,"sum":"<16 hex digits>"}
 *
 * A line that is shorter than it says is what a killed or failed write left. That write was never acknowledged, so nothing
 * was sent on its account: the line is torn, and ignored. A line whose end is intact is never torn, so that a damaged
 * length does not hide a record.
 */

/** Who wrote a record. Decides nothing: it is for people. */
export interface Author {
  /** Null if the user id has no name, as often in containers. */
  readonly user: string | null;
  readonly host: string;
  readonly pid: number;
  /** The version of this program. */
  readonly version: string;
  /** The URL of the CI run, if there is one. */
  readonly run?: string;
}

/** The fields of every record. */
interface RecordHead {
  /** The feature and what happened: `cron.reserved`. */
  readonly type: string;
  /** ISO 8601, for people: no decision depends on it. */
  readonly at: string;
  /** Random. A record that the log has twice counts where it stands first. */
  readonly id: string;
}

/** A record of the log. Its head has been checked; its other fields may have any value. */
export type LogRecord = RecordHead & JsonObject;

/** What a line is. */
export type Line =
  | { readonly kind: 'record'; readonly record: LogRecord }
  | { readonly kind: 'torn' }
  | { readonly kind: 'damaged'; readonly why: string };

export const CONFLICT_MARKER = 'a merge conflict marker';

const VERSION = 2;
const HEAD = `{"v":${VERSION},"bytes":`;
const SUM = /,"sum":"([0-9a-f]{16})"\}$/;
const SUM_LENGTH = ',"sum":"0123456789abcdef"}'.length;

function checksum(covered: string): string {
  return hash('sha256', covered, 'hex').slice(0, 16);
}

/** Makes a record. @param now milliseconds since the epoch */
export function newRecord(
  type: string,
  fields: JsonObject,
  { author, now }: { author: Author; now: number },
): LogRecord {
  return { type, at: new Date(now).toISOString(), id: randomUUID(), ...fields, by: author };
}

/** Encodes a record as a line, without the line ending. */
export function encode(record: LogRecord): string {
  const fields = JSON.stringify(record).slice(1, -1);
  const covered = `${HEAD}${Buffer.byteLength(fields) + SUM_LENGTH},${fields}`;
  return `${covered},"sum":"${checksum(covered)}"}`;
}

/** Whether a line is the beginning of a longer one. Expects that its end is not intact. */
function isTorn(line: string): boolean {
  if (HEAD.startsWith(line)) return true;
  const [, bytes, comma, rest = ''] =
    /^(\d*)(,?)(.*)$/s.exec(line.startsWith(HEAD) ? line.slice(HEAD.length) : '-') ?? [];
  if (bytes === undefined) return false;
  return comma === '' ? rest === '' : bytes !== '' && Buffer.byteLength(rest) < Number(bytes);
}

function damaged(why: string): Line {
  return { kind: 'damaged', why };
}

/** Decodes a line that is not empty. Lines of version 1 state no length. */
export function decode(line: string): Line {
  const [end, sum] = SUM.exec(line) ?? [];
  if (end === undefined) {
    if (/^(<{7}|\|{7}|={7}|>{7})( |$)/.test(line)) return damaged(CONFLICT_MARKER);
    return isTorn(line) ? { kind: 'torn' } : damaged('not a whole record');
  }
  if (sum !== checksum(line.slice(0, -end.length))) return damaged('changed after it was written');
  const { v, bytes: _bytes, sum: _sum, ...record } = parseObject(line);
  if (typeof v === 'number' && v > VERSION) return damaged(`written by a newer version of partnerctl (format ${v})`);
  const { type, at, id } = record;
  if (typeof type !== 'string' || typeof at !== 'string' || typeof id !== 'string') return damaged('not a record');
  const known = { ...record, type, at, id };
  return { kind: 'record', record: v === VERSION ? known : fromVersion1(known) };
}

function parseObject(line: string): JsonObject {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** How version 1 named the kinds of records, and the fields for a reservation and an id. */
const VERSION_1 = new Map<string, { readonly type: string; readonly of: string; readonly object: string }>([
  ...version1('cron', 'reservation', 'cron_job_id', { adopted: 'created' }),
  ...version1('upload', 'sent', 'upload_id', { sent: 'reserved', done: 'created', adopted: 'created' }),
]);

function version1(feature: string, of: string, object: string, renamed: Readonly<Record<string, string>>) {
  const kinds = {
    reserved: 'reserved',
    created: 'created',
    released: 'released',
    unknown: 'unknown',
    forgotten: 'forgotten',
  };
  return Object.entries({ ...kinds, ...renamed }).map(
    ([old, kind]) => [`${feature}.${old}`, { type: `${feature}.${kind}`, of, object }] as const,
  );
}

/** Converts what version 1 recorded of jobs and uploads (design §6). Leaves other records as they are: nobody reads them. */
function fromVersion1(record: LogRecord): LogRecord {
  const form = VERSION_1.get(record.type);
  if (!form) return record;
  const { type: _type, at, id, by, key, seen, records, owner: _owner, until: _until, why: _why, ...rest } = record;
  const { [form.of]: of, [form.object]: object, ...data } = rest;
  return {
    type: form.type,
    at,
    id,
    key,
    data,
    ...(Array.isArray(seen) && { seen }),
    ...(object !== undefined && { object }),
    ...(form.type.endsWith('.forgotten') ? { of: records } : typeof of === 'string' && { of }),
    by,
  };
}
