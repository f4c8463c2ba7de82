import { randomBytes } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import * as v from 'valibot';
import { oneOf, Problem, usableBy } from './input.ts';
import { ROUTES } from './routes.ts';
import type { Token } from './rows.ts';
import type { Service, ServiceContext, ServiceEnv } from './service.ts';
import { type Store, settingsOf } from './store.ts';

/*
 * The checks of a partner request, in order. The first one that fails determines the response:
 *
 *   1. 401  a known token                                     (spec §5.1)
 *   2. 403  ip_not_allowed: the caller's address              (spec §5.4)
 *   3. 402  organization_balance_too_low                      (spec §5.5, §7: before anything is processed)
 *   4. 429  the token's rate limit                            (spec §7)
 *   5. 404  the path and the method
 *   6. 403  missing_scope: the token's scopes                 (spec §5.3)
 *   7. 415, 400, 422  the body or the query
 *   8. 404  what it names, or a space that the token cannot reach
 *
 * Faults come after 4, so that only authenticated requests use up their rules.
 */

const SCOPES = [...new Set(Object.values(ROUTES).map(({ scope }) => scope))];

/** Below this balance no partner request is processed (spec §8). */
const MINIMUM_BALANCE_USD = 1;

/** Whether a list of addresses and CIDR ranges has an address. @throws Error for an entry that is neither */
function includesAddress(entries: readonly string[], address: string): boolean {
  const list = new BlockList();
  const familyOf = (text: string) => (isIP(text) === 4 ? 'ipv4' : 'ipv6');
  for (const entry of entries) {
    const [base = '', prefix] = entry.split('/');
    if (prefix === undefined) list.addAddress(base, familyOf(base));
    else list.addSubnet(base, Number(prefix), familyOf(base));
  }
  return list.check(address, familyOf(address));
}

const addressRange = v.pipe(
  v.string(),
  usableBy((entry) => includesAddress([entry], '127.0.0.1'), 'must be an IP address or a CIDR range'),
);

/** The body that issues a token: by default with every scope, for every address, and for every space. */
export const newTokenSchema = v.strictObject({
  scopes: v.optional(v.array(oneOf(...SCOPES)), SCOPES),
  allowed_ip_cidrs: v.optional(v.array(addressRange), []),
  space_ids: v.optional(v.array(v.string())),
});

/** Issues a partner token. */
export function issueToken(store: Store, access: v.InferOutput<typeof newTokenSchema>): Token {
  const token = { token: `pat_${randomBytes(32).toString('base64url')}`, ...access };
  store.tokens.put(token);
  return token;
}

function bearerOf(c: ServiceContext): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(c.req.header('authorization') ?? '')?.[1];
}

function authenticate({ store }: Service, c: ServiceContext): Token {
  const token = store.tokens.get(bearerOf(c));
  if (token) return token;
  throw new Problem(401, 'invalid_token', 'Send a partner token as Authorization: Bearer <token>.');
}

function checkAddress({ allowed_ip_cidrs }: Token, caller: string): void {
  if (allowed_ip_cidrs.length === 0 || includesAddress(allowed_ip_cidrs, caller)) return;
  throw new Problem(403, 'ip_not_allowed', `The token may not be used from ${caller}.`);
}

function checkBalance({ store }: Service): void {
  const { balance_usd } = settingsOf(store);
  if (balance_usd >= MINIMUM_BALANCE_USD) return;
  const message = `The organization's balance of ${balance_usd} USD is under ${MINIMUM_BALANCE_USD} USD; the request was not processed.`;
  throw new Problem(402, 'organization_balance_too_low', message);
}

/** Counts the requests of a token in fixed windows. The first request starts a window. */
function checkRate({ store, clock, rates }: Service, c: ServiceContext, { token }: Token): void {
  const { rate_limit: limit } = settingsOf(store);
  if (!limit) return;
  const now = clock.now();
  const current = rates.get(token);
  const window = current && now < current.endsAt ? current : { endsAt: now + limit.per_seconds * 1000, used: 0 };
  rates.set(token, window);
  window.used += 1;
  if (window.used <= limit.requests) return;
  // Rounded up, so that a client that obeys it is not too early.
  c.header('Retry-After', String(Math.ceil((window.endsAt - now) / 1000)));
  throw new Problem(429, 'rate_limited', 'The token made too many requests.');
}

/** Rejects a request unless its token, address, balance, and rate allow it. */
export function requireToken(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const token = authenticate(service, c);
    c.set('token', token);
    // Only the socket's address counts: any caller can send a forwarding header.
    checkAddress(token, c.env.incoming.socket.remoteAddress ?? '');
    checkBalance(service);
    checkRate(service, c, token);
    await next();
  };
}

/** Rejects a request unless its token has the scope. */
export function requireScope(scope: string): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    if (c.get('token').scopes.includes(scope)) return next();
    throw new Problem(403, 'missing_scope', `The token lacks the scope ${scope}.`);
  };
}

/** Whether the token of a request can reach a space. To others, what is in it does not exist. */
export function canReach(c: ServiceContext, space_id: string | undefined): boolean {
  const { space_ids } = c.get('token');
  return space_ids === undefined || (space_id !== undefined && space_ids.includes(space_id));
}

/** Rejects a request without the admin key. */
export function requireAdminKey({ adminKey }: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    if (bearerOf(c) === adminKey) return next();
    throw new Problem(401, 'invalid_key', "Send the sandbox's admin key as Authorization: Bearer <key>.");
  };
}
