import { isAlreadySent } from './fault-middleware.ts';
import type { LoggedRequest } from './request-log.ts';
import { type Fetch, isPlain } from './shapes/edge.ts';

/** A partner request and its response. */
export interface ObservedExchange {
  readonly request: LoggedRequest;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Calls `onExchange` for each logged request that got a response, except those for the plain shape. */
export function observe(fetch: Fetch, onExchange: (exchange: ObservedExchange) => void): Fetch {
  return async (request, env) => {
    const response = await fetch(request, env);
    const { entry } = env.logged;
    if (!entry || isPlain(request) || isAlreadySent(response)) return response;
    const { status, headers } = response;
    onExchange({ request: entry, status, headers, body: await response.clone().text() });
    return response;
  };
}
