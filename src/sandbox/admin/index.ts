import type { Route } from '../faults.ts';
import type { ServiceApp } from '../service.ts';

const BASE = '/_sandbox';

/** What each route of the admin API is for. */
export const ADMIN_ROUTES: Readonly<Record<string, string>> = {
  'GET /settings': 'The settings',
  'PATCH /settings': 'Changes the settings in the body',
  'GET /tokens': 'The tokens, without their secrets',
  'POST /tokens': 'Issues a token with `scopes` and `allowed_ip_cidrs`',
  'DELETE /tokens/:token_id': 'Deletes a token',
  'POST /chat-tokens': 'Issues a token for one API chat source, `source_id`',
  'GET /requests': 'The requests received, and how many of each',
  'DELETE /requests': 'Clears the log of requests',
  'GET /faults': 'The fault rules',
  'PUT /faults': 'Replaces the fault rules',
  'GET /templates': 'The templates',
  'POST /templates': 'Adds a template',
  'POST /spaces': 'Creates many spaces at once: `count`, `prefix`',
  'GET /script': 'The rules of scripted agents',
  'PUT /script': 'Replaces the rules of scripted agents',
  'POST /messages': 'Adds messages to a session',
  'GET /cron-jobs': 'The scheduled jobs',
  'DELETE /cron-jobs/:cron_job_id': 'Deletes a job',
  'GET /uploads': 'The documents and attachments',
  'GET /uploads/:upload_id/content': 'The content of an upload',
  'GET /webhooks': 'The webhooks, without their secrets',
  'POST /webhooks': 'Adds a webhook: `url`, and optionally `source_id`, `events`, `secret`',
  'POST /webhooks/:webhook_id/rotate': 'Replaces the secret; the old one also signs for the time of `grace`',
  'DELETE /webhooks/:webhook_id': 'Deletes a webhook and cancels its pending deliveries',
  'GET /deliveries': 'The newest 1,000 deliveries with their attempts, and how many of each status',
  'GET /deliveries/:delivery_id': 'One delivery',
  'POST /deliveries': 'Delivers a message now: `source_id`, `session_id`, `text`, `url`, `secret`',
  'POST /deliveries/:delivery_id/replay': 'Delivers one again, under the same id',
  'GET /clock': 'The clock',
  'PATCH /clock': 'Freezes, advances, or sets the clock',
  'POST /reset': 'Resets the service',
};

/** Adds the list of admin routes at `/_sandbox`. @param routesBelow returns the routes of the app below a path */
export function addAdminIndex(app: ServiceApp, routesBelow: (base: string) => readonly Route[]): void {
  const list = () =>
    routesBelow(BASE).flatMap(({ method, path }) => {
      const own = path.slice(BASE.length);
      return own === '/' ? [] : [{ method, path: own, use: ADMIN_ROUTES[`${method} ${own}`] ?? '' }];
    });
  for (const path of [BASE, `${BASE}/`]) app.get(path, (c) => c.json({ routes: list() }));
}
