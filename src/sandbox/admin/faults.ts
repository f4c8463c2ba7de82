import { FaultInjector, faultPlanSchema } from '../faults.ts';
import { readBody } from '../request-body.ts';
import type { Route, Service } from '../service.ts';

/** The fault plan and the request log; both are only in memory. */
export function faultAdmin(service: Service): Route[] {
  return [
    { method: 'GET', path: '/faults', handle: (c) => c.json(service.faults.plan) },
    {
      method: 'PUT',
      path: '/faults',
      handle: async (c) => {
        service.faults = new FaultInjector(await readBody(c, faultPlanSchema), service.random);
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
