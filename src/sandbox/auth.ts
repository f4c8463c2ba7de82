import type { MiddlewareHandler } from 'hono';
import { isAddressAllowed } from './cidr.ts';
import { Problem } from './problem.ts';
import { retryAfterHeaders } from './rate-limit.ts';
import type { Service, ServiceEnv } from './service.ts';
import type { Scope, Token } from './store/changes.ts';
import { hashSecret, isSecret, parseBearer } from './tokens.ts';

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
 *   8. 403  source_not_allowed: an API chat token is for one source   (spec §5.6)
 *
 * The faults of the plan come after 4, so that only authenticated requests use up its rules.
 *
 * `requireToken` does 1 to 4, the router 5, `requireScope` 6, and the handlers 7 and 8.
 */

/** Below this balance no partner request is processed (spec §8). */
const MINIMUM_BALANCE_USD = 1;

function authenticate(service: Service, header: string | undefined): Token {
  const secret = parseBearer(header);
  if (secret === undefined) {
    throw new Problem(401, 'not_authenticated', 'Send a partner token as Authorization: Bearer <token>.', {
      headers: { 'WWW-Authenticate': 'Bearer realm="partner"' },
    });
  }
  const token = service.store.world.findToken(hashSecret(secret));
  if (token) return token;
  throw new Problem(401, 'invalid_token', 'The token is unknown or was deleted.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="partner", error="invalid_token"' },
  });
}

function checkAddress({ allowed_ip_cidrs }: Token, address: string): void {
  if (isAddressAllowed(allowed_ip_cidrs, address)) return;
  throw new Problem(403, 'ip_not_allowed', `The token may not be used from ${address}.`);
}

function checkBalance(service: Service): void {
  const { balance_usd } = service.store.world.settings;
  if (balance_usd >= MINIMUM_BALANCE_USD) return;
  const message = `The organization's balance of ${balance_usd} USD is under ${MINIMUM_BALANCE_USD} USD; the request was not processed.`;
  throw new Problem(402, 'organization_balance_too_low', message);
}

function checkRate({ store, scheduler, limiter }: Service, { token_id }: Token): void {
  const { rate_limit } = store.world.settings;
  if (!rate_limit) return;
  const now = scheduler.now();
  const retryAt = limiter.take(token_id, rate_limit, now);
  if (retryAt === undefined) return;
  const headers = retryAfterHeaders(rate_limit.retry_after, now, retryAt);
  throw new Problem(429, 'rate_limited', 'The token made too many requests.', { headers });
}

/** @throws Problem 403 when the token is an API chat token of another source */
export function checkSource({ source_id }: Token, sourceId: string): void {
  if (source_id === null || source_id === sourceId) return;
  throw new Problem(403, 'source_not_allowed', `The token is only for the API chat source ${source_id}.`);
}

/** Rejects a request unless its token, address, balance, and rate allow it. Stores the token in the context. */
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
    if (!c.get('token').scopes.includes(scope)) {
      throw new Problem(403, 'missing_scope', `The token lacks the scope ${scope}.`);
    }
    await next();
  };
}

/** Rejects a request without the admin key. */
export function requireAdminKey(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const key = parseBearer(c.req.header('authorization'));
    if (key === undefined || !isSecret(key, service.adminKeyHash)) {
      throw new Problem(401, 'not_authenticated', "Send the sandbox's admin key as Authorization: Bearer <key>.", {
        headers: { 'WWW-Authenticate': 'Bearer realm="sandbox"' },
      });
    }
    await next();
  };
}
