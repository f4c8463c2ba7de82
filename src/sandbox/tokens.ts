import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { isAddressRange } from './cidr.ts';
import { makeId } from './ids.ts';
import { SCOPES, scopeSchema } from './scopes.ts';
import { type Service, timestamp } from './service.ts';
import { closed } from './shapes.ts';
import type { TokenRecord } from './store/tokens.ts';

const allowedRangesSchema = v.optional(
  v.array(v.pipe(v.string(), v.check(isAddressRange, 'must be an IP address or a CIDR range'))),
  [],
);

export const newTokenSchema = closed({
  scopes: v.optional(v.array(scopeSchema), [...SCOPES]),
  allowed_ip_cidrs: allowedRangesSchema,
});

export type NewToken = v.InferOutput<typeof newTokenSchema>;

export const newChatTokenSchema = closed({ source_id: v.string(), allowed_ip_cidrs: allowedRangesSchema });

type NewChatToken = v.InferOutput<typeof newChatTokenSchema>;

/** The SHA-256 of a secret in hexadecimal: all that is kept of it. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether the secret is the one that the hash was made from, in the same time for every wrong one. */
export function isSecret(secret: string, hash: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(secret)), Buffer.from(hash));
}

/** The secret of an `Authorization: Bearer <secret>` header, or undefined for any other header or none. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header ?? '')?.[1];
}

interface Issued {
  readonly record: TokenRecord;
  /** It is here and nowhere else. */
  readonly secret: string;
}

function issue(
  service: Service,
  prefix: string,
  rights: Pick<TokenRecord, 'scopes' | 'allowed_ip_cidrs' | 'source_id'>,
): Issued {
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  const record: TokenRecord = {
    token_id: makeId('tok'),
    secret_sha256: hashSecret(secret),
    ...rights,
    created_at: timestamp(service),
  };
  service.store.commit({ kind: 'token', token: record });
  return { record, secret };
}

/** Makes a partner token (spec §5). */
export function issueToken(service: Service, { scopes, allowed_ip_cidrs }: NewToken): Issued {
  return issue(service, 'pat', { scopes: [...new Set(scopes)], allowed_ip_cidrs, source_id: null });
}

/** Makes an API chat token (spec §5.6): it sends messages to one source and reads that source's history. */
export function issueChatToken(service: Service, { source_id, allowed_ip_cidrs }: NewChatToken): Issued {
  return issue(service, 'act', { scopes: ['api_chat.runtime'], allowed_ip_cidrs, source_id });
}

/** A token as the admin surface shows it: without anything that opens a door. */
export function publicToken({ token_id, scopes, allowed_ip_cidrs, source_id, created_at }: TokenRecord) {
  return { token_id, scopes, allowed_ip_cidrs, source_id, created_at };
}
