import { quoted } from '../yaml/quote.ts';
import { suggest } from '../yaml/suggest.ts';
import { ScheduleError } from './schedule-error.ts';
import { ZONE_ALIASES } from './zone-aliases.ts';

const OFFSET = /^(?:utc|gmt)?\s*[+\-\u2212]\s*\d/i;
const PLACE = 'name a place, such as Europe/Berlin, or UTC';

/** Zones without daylight saving; no list has them all. */
function fixedZones(): string[] {
  const ahead = Array.from({ length: 14 }, (_, index) => `Etc/GMT-${index + 1}`);
  const behind = Array.from({ length: 12 }, (_, index) => `Etc/GMT+${index + 1}`);
  return [...ahead, ...behind];
}

/** The names in use, by their newer spelling first. */
function zones(): string[] {
  return [...Object.keys(ZONE_ALIASES), ...Intl.supportedValuesOf('timeZone')];
}

function allNames(): string[] {
  return [...zones(), ...Object.values(ZONE_ALIASES).flat(), ...fixedZones()];
}

/** What this Node.js takes a name for; undefined where it does not know it. */
function resolved(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** The usual spelling of a name that this Node.js knows; undefined where it is none of the IANA database. */
function spelling(name: string): string | undefined {
  const own = resolved(name);
  if (own === undefined) return undefined;
  // The usual case, without the long list: what Node.js calls a zone itself is its usual spelling.
  if (own === name && (own === 'UTC' || own.includes('/')) && !own.startsWith('SystemV/')) return own;
  const lower = name.toLowerCase();
  return allNames().find((zone) => zone.toLowerCase() === lower);
}

/** The zone that a mistyped name most likely means: by its city, in the region that it names or else in any. */
function meant(text: string): string | undefined {
  const city = (zone: string): string => zone.slice(zone.lastIndexOf('/') + 1);
  const word = text.replace(/\s+/g, '_').toLowerCase();
  const region = word.slice(0, word.indexOf('/') + 1);
  const isNear = (zone: string): boolean => region !== '' && zone.toLowerCase().startsWith(region);
  for (const candidates of [allNames().filter(isNear), zones()]) {
    const near = suggest(city(word), candidates.map(city));
    if (near !== undefined) return candidates.find((zone) => city(zone) === near);
  }
  return undefined;
}

function refusal(text: string, offset: number): ScheduleError {
  const fault = (why: string, hint = PLACE): ScheduleError =>
    new ScheduleError('timezone', `${quoted(text)} ${why}`, { hint, offset, length: text.length });
  if (OFFSET.test(text)) return fault('is an offset, which knows no daylight saving; a timezone name is needed');
  // Node.js takes some of these for other zones than people mean: BST for that of Bangladesh.
  if (/^[A-Z]{1,5}$/.test(text) || (!text.includes('/') && resolved(text) !== undefined)) {
    return fault('is an abbreviation, not an IANA timezone name');
  }
  const near = meant(text);
  return fault('is not an IANA timezone name', near && `did you mean ${quoted(near)}?`);
}

/**
 * The name of an IANA timezone in its usual spelling: `europe/berlin` is `Europe/Berlin`. Aliases stay what they are.
 * @throws ScheduleError for an offset, an abbreviation, or a name that this Node.js does not know
 */
export function parseTimezone(text: string): string {
  const name = text.trim();
  const offset = text.length - text.trimStart().length;
  if (name === '') throw new ScheduleError('timezone', 'is empty', { hint: PLACE, offset, length: 0 });
  const known = spelling(name);
  if (known === undefined) throw refusal(name, offset);
  return known;
}

/** One name for all the names of a zone: `Etc/UTC` is `UTC`, `Asia/Calcutta` is `Asia/Kolkata`. */
export function canonicalZone(name: string): string {
  const entry = Object.entries(ZONE_ALIASES).find(([, others]) => others.includes(name));
  return entry?.[0] ?? name;
}
