import { suggest } from '../platform/suggest.ts';
import { quoted } from '../yaml/quote.ts';
import { ScheduleError } from './cron-field.ts';

const OFFSET = /^(?:utc|gmt)?\s*[+\-\u2212]\s*\d/i;
const ZONE_HINT = 'use a place, such as Europe/Berlin, or UTC';

/** The three-letter IANA names. Node.js also accepts abbreviations with surprising meanings: BST is Bangladesh. */
const THREE_LETTER_ZONES = 'UTC GMT UCT CET EET MET WET EST MST HST PRC ROC ROK'.split(' ');

/**
 * The name that this version of Node.js uses for a time zone, the same for all names of the zone.
 * @returns undefined for an unknown name
 */
function resolveZone(name: string): string | undefined {
  // The default. Loading the data of all zones takes 6 ms.
  if (name.toUpperCase() === 'UTC') return 'UTC';
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

function isAbbreviation(name: string, resolved: string | undefined): boolean {
  return /^[a-z]{3}$/i.test(name)
    ? !THREE_LETTER_ZONES.includes(name.toUpperCase())
    : /^[A-Z]{1,5}$/.test(name) && resolved === undefined;
}

/** The zone whose city is closest to a mistyped name. */
function suggestZone(text: string): string | undefined {
  const city = (zone: string): string => zone.slice(zone.lastIndexOf('/') + 1);
  const zones = Intl.supportedValuesOf('timeZone');
  const near = suggest(city(text.replace(/\s+/g, '_')), zones.map(city));
  return zones.find((zone) => city(zone) === near);
}

/**
 * Checks an IANA time zone name, in any case: `europe/berlin` becomes `Europe/Berlin`. Aliases such as `Asia/Kolkata`
 * stay as typed, so that the service gets the name that the user knows.
 * @throws ScheduleError for an offset, an abbreviation, or a name that this Node.js does not know
 */
export function parseTimezone(text: string): string {
  const name = text.trim();
  const offset = text.length - text.trimStart().length;
  const fault = (what: string, hint = ZONE_HINT) =>
    new ScheduleError('timezone', `${quoted(name)} ${what}`, { hint, offset, length: name.length });
  if (name === '') throw new ScheduleError('timezone', 'is empty', { hint: ZONE_HINT, offset, length: 0 });
  if (OFFSET.test(name)) throw fault('is an offset, which has no daylight saving time; use the name of a time zone');
  const resolved = resolveZone(name);
  if (isAbbreviation(name, resolved)) throw fault('is an abbreviation, not an IANA time zone name');
  if (resolved === undefined || name.startsWith('SystemV/')) {
    const near = suggestZone(name);
    throw fault('is not an IANA time zone name', near && `did you mean ${quoted(near)}?`);
  }
  const isAliasAsTyped = /^[A-Z]/.test(name) && name.toLowerCase() !== resolved.toLowerCase();
  return isAliasAsTyped ? name : resolved;
}

/** One name for all aliases of a zone. Compare only within one run: the name depends on the version of Node.js. */
export function canonicalTimezone(name: string): string {
  return resolveZone(name) ?? name;
}
