import type { MiddlewareHandler } from 'hono';
import { Problem } from './problem.ts';
import { retryAfter } from './rate-limit.ts';
import type { Scope } from './scopes.ts';
import type { Service, ServiceEnv } from './service.ts';
import type { LiveToken } from './store/tokens.ts';
import { bearerOf, hashSecret } from './tokens.ts';

/*
 * What a partner request passes, in this order; the first refusal is the answer:
 *
 *   1. 401  a token, and one that is known                    (spec §5.1)
 *   2. 403  ip_not_allowed: the caller's address              (spec §5.4)
 *   3. 402  organization_balance_too_low                      (spec §5.5, §7: before anything is processed)
 *   4. 429  the token's rate limit                            (spec §7)
 *   5. 404, 405  the path, then the method
 *   6. 403  missing_scope: the token's scopes                 (spec §5.3)
 *   7. 415, 413, 400, 422  the body or the query
 *   8. 403  source_not_allowed: an API chat token is for one source   (spec §5.6)
 *
 * 1 to 4 are here; 5 is the router's; 6 is `scopeGate`, set before each handler; 7 is the handler's, and so is
 * 8, by `checkSource`.
 */

/** Below this many USD no partner call is processed (spec §8). */
const MINIMUM_BALANCE_USD = 1;

function authenticate(service: Service, header: string | undefined): LiveToken {
  const secret = bearerOf(header);
  if (secret === undefined) {
    throw new Problem(401, 'not_authenticated', 'Send a partner token as Authorization: Bearer <token>.', {
      headers: { 'WWW-Authenticate': 'Bearer realm="partner"' },
    });
  }
  const token = service.store.world.tokens.bySecretHash(hashSecret(secret));
  if (token) return token;
  throw new Problem(401, 'invalid_token', 'The token is not known, or it was deleted.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="partner", error="invalid_token"' },
  });
}

function checkAddress(token: LiveToken, address: string): void {
  if (token.allows(address)) return;
  throw new Problem(403, 'ip_not_allowed', `The token may not be used from ${address}.`);
}

function checkBalance(service: Service): void {
  const { balance_usd } = service.store.world.settings;
  if (balance_usd >= MINIMUM_BALANCE_USD) return;
  const message = `The organization's balance of ${balance_usd} USD is under ${MINIMUM_BALANCE_USD} USD; the call was not processed.`;
  throw new Problem(402, 'organization_balance_too_low', message);
}

function checkRate(service: Service, token: LiveToken): void {
  const { rate_limit } = service.store.world.settings;
  const now = service.now();
  const comeBackAt = service.limiter.take(token.record.token_id, rate_limit, now);
  if (comeBackAt === undefined || !rate_limit) return;
  const header = retryAfter(rate_limit.retry_after, now, comeBackAt);
  throw new Problem(429, 'rate_limited', 'The token made too many requests.', {
    headers: header === undefined ? {} : { 'Retry-After': header },
  });
}

/** @throws Problem 403 when the token is an API chat token of another source. */
export function checkSource(token: LiveToken, sourceId: string): void {
  const { source_id } = token.record;
  if (source_id === null || source_id === sourceId) return;
  throw new Problem(403, 'source_not_allowed', `The token is for the API chat source ${source_id} alone.`);
}

/** Lets a request through when its token, address, balance and rate are in order; leaves the token in the context. */
export function gate(service: Service): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    const token = authenticate(service, c.req.header('authorization'));
    c.set('token', token);
    const entry = c.get('entry');
    if (entry) entry.token_id = token.record.token_id;
    // The socket's address alone counts: a header would be the caller's own word.
    checkAddress(token, c.env.incoming.socket.remoteAddress ?? '');
    checkBalance(service);
    checkRate(service, token);
    await next();
  };
}

/** Lets a request through when its token carries the scope. */
export function scopeGate(scope: Scope): MiddlewareHandler<ServiceEnv> {
  return async (c, next) => {
    if (!c.get('token').record.scopes.includes(scope)) {
      throw new Problem(403, 'missing_scope', `The token lacks the scope ${scope}.`);
    }
    await next();
  };
}
