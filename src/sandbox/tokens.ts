import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { isAddressRange } from './cidr.ts';
import { createId, type Service, timestamp } from './service.ts';
import { SCOPES, scopeSchema, type Token } from './store/changes.ts';
import { closedObject } from './validation.ts';

const allowedRangesSchema = v.optional(
  v.array(v.pipe(v.string(), v.check(isAddressRange, 'must be an IP address or a CIDR range'))),
  [],
);

/** The body that issues a partner token: by default with every scope, for every address. */
export const newTokenSchema = closedObject({
  scopes: v.optional(v.array(scopeSchema), [...SCOPES]),
  allowed_ip_cidrs: allowedRangesSchema,
});

/** The body that issues an API chat token. */
export const newChatTokenSchema = closedObject({ source_id: v.string(), allowed_ip_cidrs: allowedRangesSchema });

/** The SHA-256 of a secret in hexadecimal; the secret itself is never stored. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether a secret has this hash. Compares in constant time. */
export function isSecret(secret: string, hash: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(secret)), Buffer.from(hash));
}

/** The secret of an `Authorization: Bearer <secret>` header, or undefined for any other header or none. */
export function parseBearer(header: string | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header ?? '')?.[1];
}

/** A token with its secret, which is stored nowhere. */
interface IssuedToken {
  readonly token: Token;
  readonly secret: string;
}

function issue(
  service: Service,
  prefix: string,
  access: Pick<Token, 'scopes' | 'allowed_ip_cidrs' | 'source_id'>,
): IssuedToken {
  const secret = `${prefix}_${randomBytes(32).toString('base64url')}`;
  const token: Token = {
    token_id: createId('tok'),
    secret_sha256: hashSecret(secret),
    ...access,
    created_at: timestamp(service),
  };
  service.store.commit({ kind: 'token', token });
  return { token, secret };
}

/** Issues a partner token (spec §5). */
export function issueToken(
  service: Service,
  { scopes, allowed_ip_cidrs }: v.InferOutput<typeof newTokenSchema>,
): IssuedToken {
  return issue(service, 'pat', { scopes: [...new Set(scopes)], allowed_ip_cidrs, source_id: null });
}

/** Issues an API chat token (spec §5.6): it sends messages to one source and reads that source's history. */
export function issueChatToken(
  service: Service,
  { source_id, allowed_ip_cidrs }: v.InferOutput<typeof newChatTokenSchema>,
): IssuedToken {
  return issue(service, 'act', { scopes: ['api_chat.runtime'], allowed_ip_cidrs, source_id });
}

/** A token as the admin API shows it, without the hash of its secret. */
export function toPublicToken({ secret_sha256: _, ...token }: Token) {
  return token;
}
