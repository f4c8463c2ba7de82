import { hash } from 'node:crypto';
import type { ListedCronJob } from '../contract/cron.ts';
import { canonicalId, comparableAgent } from '../contract/values.ts';
import {
  type CronSchedule,
  completeSchedule,
  formatExpression,
  normalizeFields,
  normalizePart,
  parseTimezone,
  SCHEDULE_PARTS,
  type SchedulePart,
  type ScheduleParts,
} from './schedule.ts';

/** A job to create (spec §2). */
export interface CronJob {
  readonly agent_id: string;
  readonly name: string;
  readonly instructions: string;
  readonly schedule: CronSchedule;
}

/** What identifies a job. */
export interface JobIdentity {
  /** The base URL of the service. */
  readonly origin: string;
  readonly agent_id: string;
  readonly name: string;
}

/** What is known of what a job does and when. A part that is missing is not known. */
interface Content {
  readonly schedule?: ScheduleParts | null | undefined;
  readonly instructions?: string | undefined;
  readonly instructions_hash?: string | null | undefined;
}

/** What the state keeps of a job: enough to recognize it and to show differences, but not its instructions. */
export interface JobData extends JobIdentity {
  /** Null if the service did not return it when the job was adopted. */
  readonly schedule: CronSchedule | null;
  readonly instructions_hash: string | null;
  readonly content_hash: string | null;
}

const KEY_LENGTH = 24;

/** JSON separates the parts unambiguously, and escapes lone surrogates, which UTF-8 would all turn into the same character. */
function sha256(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'hex');
}

/** A name as it is compared, in Unicode NFC: a service or an editor may use another form than the one typed. */
export function toNfc(name: string): string {
  return name.normalize('NFC');
}

/** The key of a job, 24 hexadecimal digits: at most one job per key may exist. @param origin the base URL of the service */
export function cronKey(origin: string, agentId: string, name: string): string {
  return sha256([origin, canonicalId(agentId), toNfc(name)]).slice(0, KEY_LENGTH);
}

/** Whether the agent and the name of a listed job are these; `maybe` if the service does not say which agent runs it. */
export function matchIdentity(
  listed: Pick<ListedCronJob, 'agent_id' | 'agent_text' | 'name'>,
  agentId: string,
  name: string,
): 'yes' | 'no' | 'maybe' {
  if (toNfc(listed.name ?? '') !== toNfc(name)) return 'no';
  const isAgent = (shown: string | undefined) =>
    shown !== undefined && comparableAgent(shown) === comparableAgent(agentId);
  if (isAgent(listed.agent_id ?? listed.agent_text)) return 'yes';
  return listed.agent_id === undefined ? 'maybe' : 'no';
}

/** Removes differences that editors and shells introduce: line ends and trailing white space. */
function normalizeInstructions(text: string): string {
  return text.replaceAll('\r\n', '\n').trimEnd();
}

/** SHA-256 of instructions, in hexadecimal. Line ends and trailing white space make no difference. */
export function instructionsHash(text: string): string {
  return sha256(normalizeInstructions(text));
}

/**
 * SHA-256 of what a job does and when, in hexadecimal, the same on every version of Node.js. Equal hashes mean equal content;
 * two names of one time zone give different ones.
 * @throws ScheduleError if the schedule cannot be read
 */
export function contentHash({ instructions, schedule }: Pick<CronJob, 'instructions' | 'schedule'>): string {
  const when = `${formatExpression(normalizeFields(schedule))} ${parseTimezone(schedule.timezone)}`;
  return sha256([when, normalizeInstructions(instructions)]);
}

/** The record of a job with this content; null for what is not known, or not in a known form. */
export function toJobData(
  { origin, agent_id, name }: JobIdentity,
  content: Omit<Content, 'instructions_hash'>,
): JobData {
  const { instructions } = content;
  const schedule = completeSchedule(content.schedule) ?? null;
  return {
    origin,
    agent_id,
    name,
    schedule,
    instructions_hash: instructions === undefined ? null : instructionsHash(instructions),
    content_hash: schedule && instructions !== undefined ? contentHash({ schedule, instructions }) : null,
  };
}

export interface CronDifference {
  readonly field: SchedulePart | 'instructions';
  /** Undefined if only its hash is known. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

function hashOf({ instructions, instructions_hash }: Content): string | undefined {
  return instructions === undefined ? (instructions_hash ?? undefined) : instructionsHash(instructions);
}

/**
 * Finds the fields in which two jobs differ in meaning. What is missing or cannot be read in one of them does not differ.
 * @returns each field with both texts as written
 */
export function findDifferences(before: Content, after: Content): CronDifference[] {
  const differ = (one: string | undefined, other: string | undefined) =>
    one !== undefined && other !== undefined && one !== other;
  const found = SCHEDULE_PARTS.flatMap((field): CronDifference[] => {
    const [one, other] = [before.schedule?.[field], after.schedule?.[field]];
    if (one === undefined || other === undefined || one === other) return [];
    const isOther = differ(normalizePart(field, one), normalizePart(field, other));
    return isOther ? [{ field, before: one, after: other }] : [];
  });
  if (!differ(hashOf(before), hashOf(after))) return found;
  return [...found, { field: 'instructions', before: before.instructions, after: after.instructions }];
}

/** Whether two records are of jobs with different content. */
export function hasOtherContent(one: JobData, other: JobData): boolean {
  const isSame = one.content_hash !== null && one.content_hash === other.content_hash;
  return !isSame && findDifferences(one, other).length > 0;
}
