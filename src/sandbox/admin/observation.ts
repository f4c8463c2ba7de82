import { readBody } from '../body.ts';
import { FaultDice, faultPlanSchema, settle } from '../faults.ts';
import type { Service } from '../service.ts';
import type { AdminRoute } from './route.ts';

/** The fault plan and the log of what was received; both live in memory alone. */
export function observationAdmin(service: Service): AdminRoute[] {
  return [
    { method: 'GET', path: '/faults', handle: (c) => c.json(service.faults.plan) },
    {
      method: 'PUT',
      path: '/faults',
      handle: async (c) => {
        service.faults = new FaultDice(settle(await readBody(c, faultPlanSchema), service.random));
        return c.json(service.faults.plan);
      },
    },
    {
      method: 'GET',
      path: '/requests',
      handle: (c) => c.json({ counts: service.log.counts(), requests: service.log.entries() }),
    },
    {
      method: 'DELETE',
      path: '/requests',
      handle: (c) => {
        service.log.clear();
        return c.body(null, 204);
      },
    },
  ];
}
