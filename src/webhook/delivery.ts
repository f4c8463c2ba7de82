import { hash } from 'node:crypto';

/** The headers of a request, in the order of arrival. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** `not-checked`: the user chose no scheme. `unsigned`: the delivery has no signature. */
export type Verification = 'verified' | 'failed' | 'unsigned' | 'not-checked';

export interface Verdict {
  readonly verification: Verification;
  /** Why it is `failed` or `unsigned`, as a clause without a period; otherwise null. */
  readonly reason: string | null;
}

/** A received webhook. */
export interface Delivery extends Verdict {
  /** Repeats of a delivery have the same id. */
  readonly delivery_id: string;
  /** In ISO 8601. */
  readonly received_at: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** Returns the value of a header, or undefined if it is missing or empty. Several values are joined as HTTP does. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  const values = headers.filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  return values.join(', ') || undefined;
}

/** Returns the id that a delivery shares with its repeats: that of a header, else the SHA-256 of the body. */
export function deliveryIdOf(headers: HeaderList, body: Buffer, idHeader: string): string {
  return (
    headerValue(headers, idHeader) ?? headerValue(headers, 'webhook-id') ?? `sha256:${hash('sha256', body, 'hex')}`
  );
}
