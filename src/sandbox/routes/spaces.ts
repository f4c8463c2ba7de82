import { pageOf } from '../paging.ts';
import type { Route, Service } from '../service.ts';
import type { SpaceRecord } from '../store/spaces.ts';

/** A space as the service shows it. */
export function publicSpace(space: SpaceRecord) {
  const { space_id, external_space_id, name, description, is_org_wide, created_at } = space;
  return { space_id, external_space_id, name, description, is_org_wide, created_at };
}

/** GET /automation/spaces/ (spec §4, endpoint 1). Every token sees every space of the organization. */
export function spaceRoutes(service: Service): Route[] {
  return [
    {
      method: 'GET',
      path: '/automation/spaces/',
      scope: 'spaces.read',
      handle: (c) => c.json(pageOf(service, c, service.store.world.spaces.all(), publicSpace)),
    },
  ];
}
