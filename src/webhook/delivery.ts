import { hash } from 'node:crypto';
import { type HeaderList, headerValue } from './headers.ts';
import type { Verdict } from './verify.ts';

/** A received webhook. */
export interface Delivery extends Verdict {
  /** Repeats of a delivery have the same id. */
  readonly delivery_id: string;
  /** In ISO 8601. */
  readonly received_at: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/**
 * Returns the id that a delivery shares with its repeats: the header that the scheme signs as id, else the webhook-id
 * header, else the SHA-256 of the body.
 * @param idHeader the header that the scheme signs
 */
export function deliveryIdOf(headers: HeaderList, body: Buffer, idHeader: string | undefined): string {
  const named = idHeader === undefined ? undefined : headerValue(headers, idHeader);
  return named ?? headerValue(headers, 'webhook-id') ?? `sha256:${hash('sha256', body, 'hex')}`;
}

/** Returns a hash of a delivery id, of fixed length and safe in file names. */
export function keyOf(deliveryId: string): string {
  return hash('sha256', deliveryId, 'hex').slice(0, 24);
}

/** The keys of the newest deliveries, up to a limit. */
export class RecentKeys {
  private readonly keys = new Set<string>();
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  has(key: string): boolean {
    return this.keys.has(key);
  }

  add(key: string): void {
    this.keys.add(key);
    for (const oldest of this.keys) {
      if (this.keys.size <= this.limit) return;
      this.keys.delete(oldest);
    }
  }
}
