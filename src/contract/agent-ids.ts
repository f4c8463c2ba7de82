import { normalizeName } from './field-names.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { canonicalId } from './uuid.ts';

/** A URL or path without what does not identify the resource. */
function stripPath(text: string): string {
  return text.replace(/[?#].*$/, '').replace(/\/+$/, '');
}

/** The id at the end of a URL or path; any other id unchanged. */
function lastSegment(id: string): string {
  if (!id.includes('/')) return id;
  const path = stripPath(id);
  return path.slice(path.lastIndexOf('/') + 1);
}

/**
 * An agent's id for looking it up: services spell UUIDs in several ways, and may list the address of an agent as its id. Two
 * agents can share it if their ids are paths: see `namesAgent`.
 */
export function comparableAgent(agentId: string): string {
  return canonicalId(lastSegment(agentId));
}

/** Whether what a service shows as an agent, an id or an address, is this agent. */
export function namesAgent(shown: string, agentId: string): boolean {
  if (canonicalId(shown) === canonicalId(agentId)) return true;
  if (!shown.includes('/')) return false;
  return agentId.includes('/')
    ? stripPath(shown).endsWith(`/${stripPath(agentId).replace(/^\/+/, '')}`)
    : comparableAgent(shown) === canonicalId(agentId);
}

/** A value of an object, and the normalized names that lead to it. */
interface Place {
  readonly names: readonly string[];
  readonly text: string;
}

function* placesIn(value: unknown, names: readonly string[]): Generator<Place> {
  if (typeof value === 'string' || typeof value === 'number') yield { names, text: String(value) };
  else if (Array.isArray(value)) for (const each of value) yield* placesIn(each, names);
  else if (isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) yield* placesIn(inner, [...names, normalizeName(key)]);
  }
}

/** Names of fields that hold an agent, or what a job runs. */
const AGENT = /agent|assistant|bot|target|assign/;
const AGENT_ID = /(agent|assistant|bot)(id|uuid|guid)s?$/;
const AGENT_OBJECT = /(agent|assistant|bot|target)s?$/;
const ID = /^(u?u?id|guid)s?$/;
/** What people write: not an id, even if it is spelled like one. */
const TEXTS = /(name|title|label|instructions?|prompt|description)$/;

/** Whether an id is unlikely to be anything else: it has letters and digits. */
function isDistinctive(id: string): boolean {
  return id.length >= 6 && /[a-z]/i.test(id) && /\d/.test(id);
}

/** The form of an id: other ids of this form may be ids of the same resource. */
function formOf(id: string): string {
  if (/^\d+$/.test(id)) return 'number';
  const prefix = /^[a-z]+[_-]/i.exec(id)?.[0] ?? '';
  return isDistinctive(id) && (prefix === '' || id.length === 36) ? `length ${id.length}` : prefix;
}

/** Whether a place certainly holds the id of an agent, or its address. */
function holdsAgentId({ names, text }: Place): boolean {
  const [last = '', outer = ''] = names.toReversed();
  if (AGENT_ID.test(last) || (ID.test(last) && AGENT_OBJECT.test(outer))) return true;
  return AGENT_OBJECT.test(last) && (text.includes('/') || isDistinctive(text) || /^\d+$/.test(text));
}

/**
 * Whether a job without an agent_id that can be read shows elsewhere that it is of this agent: `yes`, `no` if it shows another
 * agent's id of the same form, or `maybe`.
 */
export function findAgentMention(job: JsonObject, agentId: string): 'yes' | 'no' | 'maybe' {
  const places = [...placesIn(job, [])].filter(({ names }) => !TEXTS.test(names.at(-1) ?? ''));
  const isOwn = isDistinctive(comparableAgent(agentId));
  const isHere = ({ names, text }: Place): boolean =>
    namesAgent(text, agentId) && (isOwn || names.some((name) => AGENT.test(name)));
  if (places.some(isHere)) return 'yes';
  const form = formOf(comparableAgent(agentId));
  const others = places.filter((place) => holdsAgentId(place) && formOf(comparableAgent(place.text)) === form);
  return form !== '' && others.length > 0 ? 'no' : 'maybe';
}
