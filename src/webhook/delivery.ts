/** The headers of a request, in the order of arrival, with their names as sent. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

export interface SentWebhook {
  readonly headers: HeaderList;
  readonly body: Buffer;
}

export interface Verdict {
  /** `not-checked`: the user chose no scheme. `unsigned`: the delivery has no signature. */
  readonly verification: 'verified' | 'failed' | 'unsigned' | 'not-checked';
  /** Why it is `failed` or `unsigned`, as a clause without a period; otherwise null. */
  readonly reason: string | null;
}

export interface Delivery extends SentWebhook, Verdict {
  /** Repeats of a delivery have the same id. */
  readonly delivery_id: string;
  /** In ISO 8601. */
  readonly received_at: string;
}

/** Returns the value of a header, or undefined if it is missing or empty. Several values are joined as HTTP does. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  const values = headers.filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  return values.join(', ') || undefined;
}
