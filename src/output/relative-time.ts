const UNITS = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1000, name: 's' },
] as const;

const ISO_TIME = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})/g;

/**
 * Replaces each ISO 8601 time in a text with its distance from now: `in 3 h`, `2 d ago`.
 * @param now milliseconds since the epoch
 */
export function withRelativeTimes(text: string, now: number): string {
  return text.replace(ISO_TIME, (iso) => {
    const distance = Date.parse(iso) - now;
    const length = Math.abs(distance);
    const unit = UNITS.find(({ ms }) => length >= ms);
    if (!unit) return Number.isNaN(distance) ? iso : 'now';
    const count = Math.floor(length / unit.ms);
    return distance > 0 ? `in ${count} ${unit.name}` : `${count} ${unit.name} ago`;
  });
}
