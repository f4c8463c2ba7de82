import { FaultInjector, faultPlanSchema } from '../faults.ts';
import { readBody } from '../request-body.ts';
import type { Service, ServiceApp } from '../service.ts';

/** The fault plan and the request log, which are kept only in memory. */
export function addFaultAdmin(app: ServiceApp, service: Service): void {
  app.get('/faults', (c) => c.json(service.faults.plan));
  app.put('/faults', async (c) => {
    service.faults = new FaultInjector(await readBody(c, faultPlanSchema), service.random);
    return c.json(service.faults.plan);
  });
  app.get('/requests', (c) => c.json({ counts: service.log.counts(), requests: service.log.entries() }));
  app.delete('/requests', (c) => {
    service.log.clear();
    return c.body(null, 204);
  });
}
