import { createHash } from 'node:crypto';
import { FIELD_NAMES } from './cron-field.ts';
import { type CronSchedule, normalizePart, normalizeSchedule } from './schedule.ts';
import { ScheduleError } from './schedule-error.ts';

/** A job as it is to be created (spec §2). */
export interface CronJob {
  readonly agent_id: string;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: CronSchedule;
}

const KEY_LENGTH = 24;

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/**
 * What a job is known by: at most one job of a key may exist.
 * @param origin the base address of the service
 * @returns 24 hexadecimal digits
 */
export function cronKey(origin: string, agentId: string, name: string): string {
  // JSON keeps the parts apart whatever characters they hold, and escapes half characters instead of merging them.
  return sha256(JSON.stringify([origin, agentId, name])).slice(0, KEY_LENGTH);
}

/** Instructions without what editors and shells change on their own: line ends, and white space at the very end. */
function normalisedInstructions(text: string): string {
  return text.replaceAll('\r\n', '\n').trimEnd();
}

/** SHA-256 in hexadecimal over instructions; line ends, and white space at the very end, make no difference. */
export function instructionsHash(text: string): string {
  return sha256(JSON.stringify(normalisedInstructions(text)));
}

/** Whether two instructions are the same but for line ends, and white space at the very end. */
export function isSameInstructions(one: string, other: string): boolean {
  return normalisedInstructions(one) === normalisedInstructions(other);
}

/**
 * SHA-256 in hexadecimal over what a job does and when, by meaning.
 * @throws ScheduleError where the schedule cannot be read
 */
export function contentHash({ instructions, schedule }: Pick<CronJob, 'instructions' | 'schedule'>): string {
  return sha256(JSON.stringify([normalizeSchedule(schedule), normalisedInstructions(instructions)]));
}

export interface CronDifference {
  readonly field: 'minute' | 'hour' | 'day_of_week' | 'timezone' | 'instructions';
  /** Undefined where only a hash of it is known, or nothing. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** What is known of a job that exists. */
export interface KnownContent {
  readonly schedule: CronSchedule | undefined;
  readonly instructions?: string | undefined;
  readonly instructions_hash?: string | undefined;
}

const PARTS = [...FIELD_NAMES, 'timezone'] as const;

/** A part by meaning; as it is where it cannot be read. */
function comparable(part: keyof CronSchedule, text: string): string {
  try {
    return normalizePart(part, text);
  } catch (error) {
    if (error instanceof ScheduleError) return text;
    throw error;
  }
}

function scheduleDifferences(before: CronSchedule, after: CronSchedule): CronDifference[] {
  return PARTS.filter((part) => comparable(part, before[part]) !== comparable(part, after[part])).map((field) => ({
    field,
    before: before[field],
    after: after[field],
  }));
}

function sameText({ instructions, instructions_hash }: KnownContent, after: string): boolean {
  if (instructions !== undefined) return isSameInstructions(instructions, after);
  return instructions_hash === undefined || instructions_hash === instructionsHash(after);
}

/**
 * In which fields a job differs, by meaning, from one that exists. What is not known of that one is no difference.
 * @returns each field with both texts as they were given
 */
export function findDifferences(before: KnownContent, after: CronJob): CronDifference[] {
  const found = before.schedule ? scheduleDifferences(before.schedule, after.schedule) : [];
  if (sameText(before, after.instructions)) return found;
  return [...found, { field: 'instructions', before: before.instructions, after: after.instructions }];
}
