import { parseRetryAfter } from './retry.ts';

/** Returns the time of a Date header in milliseconds since the epoch; undefined if it is none. */
export function parseDate(date: string | undefined): number | undefined {
  const ms = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Returns how long the service asks to wait before the next poll, in milliseconds. @param now for dates in headers */
export function requestedWait(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const waits = [headers['retry-after'], headers['x-poll-interval']].flatMap(
    (header) => parseRetryAfter(header, headers.date, now) ?? [],
  );
  return waits.length === 0 ? undefined : Math.max(...waits);
}
