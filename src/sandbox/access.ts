import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import * as v from 'valibot';
import { Problem } from './input.ts';
import type { Token } from './resources.ts';
import { createId, SCOPES, type Scope, type Service, type ServiceEnv, timestamp } from './service.ts';
import { settingsOf } from './store.ts';

/*
 * The checks of a partner request, in order. The first one that fails determines the response:
 *
 *   1. 401  a known token                                     (spec §5.1)
 *   2. 403  ip_not_allowed: the caller's address              (spec §5.4)
 *   3. 402  organization_balance_too_low                      (spec §5.5, §7: before anything is processed)
 *   4. 429  the token's rate limit                            (spec §7)
 *   5. 404, 405  the path, then the method
 *   6. 403  missing_scope: the token's scopes                 (spec §5.3)
 *   7. 415, 413, 400, 422  the body or the query
 *
 * Faults come after 4, so that only authenticated requests use up their rules.
 */

/** Below this balance no partner request is processed (spec §8). */
const MINIMUM_BALANCE_USD = 1;

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/** @throws Error when an entry is neither an address nor a CIDR range */
function createAddressList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of ranges) {
    const [address = '', prefix] = entry.split('/');
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

function isAddressRange(entry: string): boolean {
  try {
    return createAddressList([entry]) instanceof BlockList;
  } catch {
    return false;
  }
}

/** The body that issues a token: by default with every scope, for every address. */
export const newTokenSchema = v.strictObject({
  scopes: v.optional(v.array(v.picklist(SCOPES, `must be one of ${SCOPES.join(', ')}`)), [...SCOPES]),
  allowed_ip_cidrs: v.optional(
    v.array(v.pipe(v.string(), v.check(isAddressRange, 'must be an IP address or a CIDR range'))),
    [],
  ),
});

/** The SHA-256 of a secret in hexadecimal. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Issues a partner token. @returns the token, and its secret */
export function issueToken(
  service: Service,
  access: v.InferOutput<typeof newTokenSchema>,
): { token: Token; secret: string } {
  const secret = `pat_${randomBytes(32).toString('base64url')}`;
  const ids = { token_id: createId('tok'), secret_sha256: hashSecret(secret) };
  const token = { ...ids, ...access, created_at: timestamp(service) };
  service.store.tokens.put(token);
  return { token, secret };
}

/** The secret of an `Authorization: Bearer <secret>` header. */
function parseBearer(header: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1];
}

function unauthorized(code: string, message: string): Problem {
  return new Problem(401, code, message, { headers: { 'WWW-Authenticate': 'Bearer realm="partner"' } });
}

function authenticate({ store }: Service, header: string | undefined): Token {
  const secret = parseBearer(header);
  if (secret === undefined) {
    throw unauthorized('not_authenticated', 'Send a partner token as Authorization: Bearer <token>.');
  }
  const [token] = store.tokens.in(hashSecret(secret));
  if (token) return token;
  throw unauthorized('invalid_token', 'The token is unknown or was deleted.');
}

/** @param caller an address; an IPv4-mapped IPv6 address counts as IPv4 */
function checkAddress({ allowed_ip_cidrs }: Token, caller: string): void {
  if (allowed_ip_cidrs.length === 0) return;
  if (isIP(caller) !== 0 && createAddressList(allowed_ip_cidrs).check(caller, familyOf(caller))) return;
  throw new Problem(403, 'ip_not_allowed', `The token may not be used from ${caller}.`);
}

function checkBalance({ store }: Service): void {
  const { balance_usd } = settingsOf(store);
  if (balance_usd >= MINIMUM_BALANCE_USD) return;
  const message = `The organization's balance of ${balance_usd} USD is under ${MINIMUM_BALANCE_USD} USD; the request was not processed.`;
  throw new Problem(402, 'organization_balance_too_low', message);
}

/** Counts the requests of a token in fixed windows. The first request starts a window. */
function checkRate({ store, clock, rates }: Service, { token_id }: Token): void {
  const { rate_limit: limit } = settingsOf(store);
  if (!limit) return;
  const now = clock.now();
  const current = rates.get(token_id);
  const window = current && now < current.endsAt ? current : { endsAt: now + limit.per_seconds * 1000, used: 0 };
  rates.set(token_id, window);
  window.used += 1;
  if (window.used <= limit.requests) return;
  // Rounded up, so that a client that obeys it is not too early.
  const retryAfter = {
    none: undefined,
    seconds: String(Math.max(1, Math.ceil((window.endsAt - now) / 1000))),
    date: new Date(Math.ceil(window.endsAt / 1000) * 1000).toUTCString(),
  }[limit.retry_after];
  const headers = retryAfter === undefined ? {} : { 'Retry-After': retryAfter };
  throw new Problem(429, 'rate_limited', 'The token made too many requests.', { headers });
}

/** Rejects a request unless its token, address, balance, and rate allow it. */
export function requireToken(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const token = authenticate(service, c.req.header('authorization'));
    c.set('token', token);
    const entry = c.get('entry');
    if (entry) entry.token_id = token.token_id;
    // Only the socket's address counts: any caller can send a forwarding header.
    checkAddress(token, c.env.incoming.socket.remoteAddress ?? '');
    checkBalance(service);
    checkRate(service, token);
    await next();
  };
}

/** Rejects a request unless its token has the scope. */
export function requireScope(scope: Scope): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    if (c.get('token').scopes.includes(scope)) return next();
    throw new Problem(403, 'missing_scope', `The token lacks the scope ${scope}.`);
  };
}

/** Rejects a request without the admin key. */
export function requireAdminKey({ adminKeyHash }: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const key = hashSecret(parseBearer(c.req.header('authorization')) ?? '');
    if (timingSafeEqual(Buffer.from(key), Buffer.from(adminKeyHash))) return next();
    throw unauthorized('not_authenticated', "Send the sandbox's admin key as Authorization: Bearer <key>.");
  };
}
