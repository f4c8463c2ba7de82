import { hash } from 'node:crypto';
import * as v from 'valibot';
import type { NewJob } from '../api/calls.ts';
import type { ListedCronJob } from '../contract/resources.ts';
import { canonicalId, comparableAgent } from '../contract/values.ts';
import type { OnceKind, RecordedObject, Reservation, Standings } from '../state/standing.ts';
import { type CronSchedule, normalizePart, SCHEDULE_PARTS, type SchedulePart, type ScheduleParts } from './schedule.ts';

/** What an exported file has in place of a text that the service does not show. It is never sent. */
export const NOT_SHOWN = '(not shown)';

/** Whether a text of a file stands for one that the service did not show. */
export function isNotShown(text: string): boolean {
  return text.trim() === NOT_SHOWN;
}

/** A job to create (spec §2). */
export interface CronJob extends NewJob {
  readonly schedule: CronSchedule;
}

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

const jobData = v.object({
  origin: v.string(),
  agent_id: v.string(),
  name: v.string(),
  schedule: v.nullable(
    v.object({ minute: v.string(), hour: v.string(), day_of_week: v.string(), timezone: v.string() }),
  ),
  /** Null if the service did not return the instructions when the job was adopted. */
  instructions_hash: v.nullable(v.string()),
});

/** What the state keeps of a job: enough to recognize it and to show differences, but not its instructions. */
export type JobData = Readonly<v.InferOutput<typeof jobData>>;
export type JobReservation = Reservation<JobData>;
export type RecordedJob = RecordedObject<JobData>;
export type JobStandings = Standings<JobData>;

/** JSON separates the parts, and escapes lone surrogates, which UTF-8 would all turn into the same character. */
function sha256(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'hex');
}

/** A name as it is compared, in Unicode NFC: a service or an editor may use another form than the one typed. */
export function toNfc(name: string): string {
  return name.normalize('NFC');
}

/** A name without what people change without meaning another thing: case and spaces. */
export function looseName(name: string): string {
  return toNfc(name).toLowerCase().replaceAll(/\s+/g, '');
}

/** The key of a job, 24 hexadecimal digits: at most one job per key may exist. */
export function cronKey({ origin, agent_id, name }: JobIdentity): string {
  return sha256([origin, canonicalId(agent_id), toNfc(name)]).slice(0, 24);
}

export const JOB_KIND: OnceKind<JobData> = { type: 'cron', schema: jobData, keyOf: cronKey };

/** Whether the agent and the name of a listed job are these; `maybe` if the list does not say which agent runs it. */
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

/** SHA-256 of instructions, in hexadecimal. Line ends and trailing white space make no difference. */
export function instructionsHash(text: string): string {
  return sha256(text.replaceAll('\r\n', '\n').trimEnd());
}

/** The record of a job with this content; null for what is not known. */
export function toJobData(
  { origin, agent_id, name }: JobIdentity,
  content: { readonly schedule?: CronSchedule | undefined; readonly instructions?: string | undefined },
): JobData {
  const { schedule = null, instructions } = content;
  return { origin, agent_id, name, schedule, instructions_hash: hashOf({ instructions }) ?? null };
}

export interface CronDifference {
  readonly field: SchedulePart | 'instructions';
  /** Undefined if only its hash is known. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** The hash of the instructions; undefined if they are not known. */
export function hashOf({ instructions, instructions_hash }: Content): string | undefined {
  if (instructions === undefined) return instructions_hash ?? undefined;
  return isNotShown(instructions) ? undefined : instructionsHash(instructions);
}

/** Finds the fields in which two jobs differ in meaning. What is missing or unreadable in one does not differ. */
export function findDifferences(before: Content, after: Content): CronDifference[] {
  const found: CronDifference[] = [];
  for (const field of SCHEDULE_PARTS) {
    const [one, other] = [before.schedule?.[field], after.schedule?.[field]];
    // Most are equal as written.
    if (one === undefined || other === undefined || one === other) continue;
    const [meaning, otherMeaning] = [normalizePart(field, one), normalizePart(field, other)];
    const isOther = meaning !== undefined && otherMeaning !== undefined && meaning !== otherMeaning;
    if (isOther) found.push({ field, before: one, after: other });
  }
  const [hashed, otherHashed] = [hashOf(before), hashOf(after)];
  if (hashed && otherHashed && hashed !== otherHashed) {
    found.push({ field: 'instructions', before: before.instructions, after: after.instructions });
  }
  return found;
}
