const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The first unit whose `from` is not longer than the distance applies. People count hours up to 48 h. */
const UNITS = [
  { from: 48 * HOUR, unit: DAY, name: 'd' },
  { from: HOUR, unit: HOUR, name: 'h' },
  { from: MINUTE, unit: MINUTE, name: 'min' },
  { from: 1000, unit: 1000, name: 's' },
] as const;

/** Times this far away or farther are shown as dates. */
const MAX_DISTANCE = 60 * DAY;

const ISO_TIME = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})/g;

/**
 * Replaces each ISO 8601 time in a text with its distance from now (`in 3 h`, `2 d ago`), or with its date if it is 60 days or
 * more away.
 * @param now milliseconds since the epoch
 */
export function withRelativeTimes(text: string, now: number): string {
  return text.replace(ISO_TIME, (iso) => {
    const distance = Date.parse(iso) - now;
    const length = Math.abs(distance);
    if (Number.isNaN(distance)) return iso;
    if (length >= MAX_DISTANCE) return iso.slice(0, 10);
    const found = UNITS.find(({ from }) => length >= from);
    if (!found) return 'now';
    const count = length / found.unit;
    // Round the future (2 h 53 min is `in 3 h`), but count only full units of an age.
    return distance > 0 ? `in ${Math.round(count)} ${found.name}` : `${Math.floor(count)} ${found.name} ago`;
  });
}
