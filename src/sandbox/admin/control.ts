import * as v from 'valibot';
import { describeUnmatched, FaultInjector, faultPlanSchema, type Route } from '../faults.ts';
import { Problem } from '../problem.ts';
import { readBody } from '../request-body.ts';
import { requireSource } from '../routes/lookup.ts';
import type { Service, ServiceApp } from '../service.ts';
import { settingsPatchSchema, settingsSchema } from '../settings.ts';
import { issueChatToken, issueToken, newChatTokenSchema, newTokenSchema, toPublicToken } from '../tokens.ts';

/** Partner and API chat tokens. The response that issues a token is the only one that shows its secret. */
export function addTokenAdmin(app: ServiceApp, service: Service): void {
  const { store } = service;
  app.get('/tokens', (c) => c.json({ tokens: [...store.world.tokens.values()].map(toPublicToken) }));
  app.post('/tokens', async (c) => {
    const { token, secret } = issueToken(service, await readBody(c, newTokenSchema));
    return c.json({ ...toPublicToken(token), token: secret }, 201);
  });
  app.post('/chat-tokens', async (c) => {
    const input = await readBody(c, newChatTokenSchema);
    requireSource(service, input.source_id);
    const { token, secret } = issueChatToken(service, input);
    return c.json({ ...toPublicToken(token), token: secret }, 201);
  });
  app.delete('/tokens/:token_id', (c) => {
    const token_id = c.req.param('token_id');
    if (!store.world.tokens.has(token_id)) {
      throw new Problem(404, 'token_not_found', `There is no token ${token_id}.`);
    }
    store.commit({ kind: 'token_deleted', token_id });
    return c.body(null, 204);
  });
}

/** The service's settings: balance, rate limit, page size, and so on. A PATCH changes only the fields it contains. */
export function addSettingsAdmin(app: ServiceApp, { store, limiter }: Service): void {
  app.get('/settings', (c) => c.json(store.world.settings));
  app.patch('/settings', async (c) => {
    const patch = await readBody(c, settingsPatchSchema);
    const settings = v.parse(settingsSchema, { ...store.world.settings, ...patch });
    store.commit({ kind: 'settings', settings });
    // Requests made under the old limit do not count toward the new one.
    if ('rate_limit' in patch) limiter.clear();
    return c.json(settings);
  });
}

/**
 * The fault plan and the request log, which are kept only in memory.
 * @param routes the routes of the partner API
 */
export function addFaultAdmin(app: ServiceApp, service: Service, routes: () => readonly Route[]): void {
  app.get('/faults', (c) => c.json(service.faults.plan));
  app.put('/faults', async (c) => {
    service.faults = new FaultInjector(await readBody(c, faultPlanSchema), service.random);
    const warnings = describeUnmatched(service.faults.plan.rules, routes());
    return c.json({ ...service.faults.plan, ...(warnings.length > 0 && { warnings }) });
  });
  app.get('/requests', (c) => c.json({ counts: service.log.counts(), requests: service.log.entries() }));
  app.delete('/requests', (c) => {
    service.log.clear();
    return c.body(null, 204);
  });
}
