import * as v from 'valibot';
import { readBody } from '../body.ts';
import type { Service } from '../service.ts';
import { settingsPatchSchema, settingsSchema } from '../settings.ts';
import type { AdminRoute } from './route.ts';

/** The service's settings; a PATCH changes what it names. */
export function settingsAdmin(service: Service): AdminRoute[] {
  return [
    { method: 'GET', path: '/settings', handle: (c) => c.json(service.store.world.settings) },
    {
      method: 'PATCH',
      path: '/settings',
      handle: async (c) => {
        const patch = await readBody(c, settingsPatchSchema);
        const settings = v.parse(settingsSchema, { ...service.store.world.settings, ...patch });
        service.store.commit({ kind: 'settings', settings });
        // What was used up under the former limit says nothing under the new one.
        if ('rate_limit' in patch) service.limiter.clear();
        return c.json(settings);
      },
    },
  ];
}
