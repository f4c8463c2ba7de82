import * as v from 'valibot';
import { addressTest } from '../cidr.ts';
import { scopeSchema } from '../scopes.ts';

export const tokenRecordSchema = v.strictObject({
  token_id: v.string(),
  /** The secret itself is never kept. */
  secret_sha256: v.string(),
  scopes: v.array(scopeSchema),
  allowed_ip_cidrs: v.array(v.string()),
  /** The one source that an API chat token is for; null for a partner token. */
  source_id: v.optional(v.nullable(v.string()), null),
  created_at: v.string(),
});

export type TokenRecord = v.InferOutput<typeof tokenRecordSchema>;

/** A token ready to be asked: its record, and the test of a caller's address. */
export interface LiveToken {
  readonly record: TokenRecord;
  readonly allows: (address: string) => boolean;
}

/** Partner and API chat tokens by id and by the hash of their secret. */
export class TokenTable {
  readonly #byId = new Map<string, LiveToken>();
  readonly #byHash = new Map<string, LiveToken>();

  add(record: TokenRecord): void {
    const token = { record, allows: addressTest(record.allowed_ip_cidrs) };
    this.#byId.set(record.token_id, token);
    this.#byHash.set(record.secret_sha256, token);
  }

  remove(tokenId: string): void {
    const token = this.#byId.get(tokenId);
    if (!token) return;
    this.#byId.delete(tokenId);
    this.#byHash.delete(token.record.secret_sha256);
  }

  /** Their sources are gone. */
  removeChatTokens(): void {
    for (const { token_id, source_id } of this.all()) if (source_id !== null) this.remove(token_id);
  }

  get(tokenId: string): LiveToken | undefined {
    return this.#byId.get(tokenId);
  }

  /** @param hash the SHA-256 of the secret: looking a hash up tells nothing about the secret by its timing. */
  bySecretHash(hash: string): LiveToken | undefined {
    return this.#byHash.get(hash);
  }

  /** Every token in the order of creation. */
  all(): readonly TokenRecord[] {
    return [...this.#byId.values()].map(({ record }) => record);
  }
}
