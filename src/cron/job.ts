import { createHash } from 'node:crypto';
import { canonicalId } from '../contract/values.ts';
import { type CronSchedule, normalizePart, normalizeSchedule, SCHEDULE_PARTS, type ScheduleParts } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';

/** A job to create (spec §2). */
export interface CronJob {
  readonly agent_id: string;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: CronSchedule;
}

/** A job to create and its position in the input. */
export interface WantedJob {
  readonly index: number;
  /** Its file and line: `jobs.yaml:3`. */
  readonly source: string | undefined;
  readonly job: CronJob;
}

const KEY_LENGTH = 24;

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** A name as it is compared, in Unicode NFC: a service or an editor may use another form than the one typed. */
export function toNfc(name: string): string {
  return name.normalize('NFC');
}

function hashKey(origin: string, agentId: string, name: string): string {
  // JSON separates the parts unambiguously. It escapes lone surrogates, which UTF-8 would all turn into the same character.
  return sha256(JSON.stringify([origin, agentId, name])).slice(0, KEY_LENGTH);
}

/**
 * The key of a job: at most one job per key may exist.
 * @param origin the base URL of the service
 * @returns 24 hexadecimal digits
 */
export function cronKey(origin: string, agentId: string, name: string): string {
  return hashKey(origin, canonicalId(agentId), toNfc(name));
}

/** What identifies a job. */
export interface JobIdentity {
  /** The base URL of the service. */
  readonly origin: string;
  readonly agent_id: string;
  readonly name: string;
}

/** Removes differences that editors and shells introduce: line ends and trailing white space. */
function normalizeInstructions(text: string): string {
  return text.replaceAll('\r\n', '\n').trimEnd();
}

/** SHA-256 of instructions, in hexadecimal. Line ends and trailing white space make no difference. */
export function instructionsHash(text: string): string {
  return sha256(JSON.stringify(normalizeInstructions(text)));
}

/** Whether two instructions are equal apart from line ends and trailing white space. */
export function isSameInstructions(one: string, other: string): boolean {
  return normalizeInstructions(one) === normalizeInstructions(other);
}

/**
 * SHA-256 of what a job does and when, in hexadecimal. Schedules written differently have the same hash when they mean the
 * same, except for two names of one time zone.
 * @param normalize `normalizeSchedule`, or a function that remembers what that returned
 * @throws ScheduleError when the schedule cannot be read
 */
export function contentHash(
  { instructions, schedule }: Pick<CronJob, 'instructions' | 'schedule'>,
  normalize = normalizeSchedule,
): string {
  return sha256(JSON.stringify([normalize(schedule), normalizeInstructions(instructions)]));
}

export interface CronDifference {
  readonly field: 'minute' | 'hour' | 'day_of_week' | 'timezone' | 'instructions';
  /** Undefined if unknown, or if only its hash is known. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The known content of an existing job. */
export interface KnownContent {
  readonly schedule: ScheduleParts | undefined;
  readonly instructions?: string | undefined;
  readonly instructions_hash?: string | undefined;
}

/** Normalizes a part. Returns an invalid one unchanged. */
function comparable(part: keyof CronSchedule, text: string): string {
  try {
    return normalizePart(part, text);
  } catch (error) {
    if (error instanceof ScheduleError) return text;
    throw error;
  }
}

function scheduleDifferences(shown: ScheduleParts, wanted: CronSchedule): CronDifference[] {
  return SCHEDULE_PARTS.flatMap((field) => {
    const [before, after] = [shown[field], wanted[field]];
    const isSame = before === undefined || comparable(field, before) === comparable(field, after);
    return isSame ? [] : [{ field, before, after }];
  });
}

function hasSameInstructions({ instructions, instructions_hash }: KnownContent, after: string): boolean {
  if (instructions !== undefined) return isSameInstructions(instructions, after);
  return instructions_hash === undefined || instructions_hash === instructionsHash(after);
}

/**
 * Finds the fields in which a job differs in meaning from an existing one. Unknown fields do not differ.
 * @returns each field with both texts as written
 */
export function findDifferences(before: KnownContent, after: CronJob): CronDifference[] {
  const found = before.schedule ? scheduleDifferences(before.schedule, after.schedule) : [];
  if (hasSameInstructions(before, after.instructions)) return found;
  return [...found, { field: 'instructions', before: before.instructions, after: after.instructions }];
}
