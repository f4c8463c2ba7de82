import { hash } from 'node:crypto';
import type { Verdict } from './verify.ts';

/** The headers of a request, in the order of arrival. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** A received webhook. */
export interface Delivery extends Verdict {
  /** Repeats of a delivery have the same id. */
  readonly delivery_id: string;
  /** In ISO 8601. */
  readonly received_at: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** Returns every value of a header, in order. @param name in any case */
function headerValues(headers: HeaderList, name: string): readonly string[] {
  const lowerCase = name.toLowerCase();
  return headers.flatMap(([key, value]) => (key.toLowerCase() === lowerCase ? [value] : []));
}

/** Returns the value of a header, or undefined if it is missing or empty. Several values are joined as HTTP does. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  return headerValues(headers, name).join(', ') || undefined;
}

/** Returns the id that a delivery shares with its repeats: that of a header, else the SHA-256 of the body. */
export function deliveryIdOf(headers: HeaderList, body: Buffer, idHeader: string): string {
  return (
    headerValue(headers, idHeader) ?? headerValue(headers, 'webhook-id') ?? `sha256:${hash('sha256', body, 'hex')}`
  );
}

/** Headers of one connection (RFC 9110, section 7.6.1), and headers that the HTTP client sets itself. */
const HOP_BY_HOP =
  /^(connection|keep-alive|proxy-authenticate|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade|expect|host|content-length)$/;

/** Returns the headers to forward: all except those of the connection. */
export function forwardedHeaders(headers: HeaderList): HeaderList {
  const named = headerValues(headers, 'connection').flatMap((value) => value.toLowerCase().split(/[\s,]+/));
  return headers.filter(([name]) => !HOP_BY_HOP.test(name.toLowerCase()) && !named.includes(name.toLowerCase()));
}
