import type { Route, Service } from '../service.ts';
import { agentRoutes } from './agents.ts';
import { chatHistoryRoutes } from './chat-history.ts';
import { chatMessageRoutes } from './chat-messages.ts';
import { chatSourceRoutes } from './chat-sources.ts';
import { cronJobRoutes } from './cron-jobs.ts';
import { provisioningRoutes } from './provisioning.ts';
import { spaceRoutes } from './spaces.ts';
import { uploadRoutes } from './uploads.ts';

/** Every partner endpoint (spec §4). */
export function partnerRoutes(service: Service): Route[] {
  return [
    ...spaceRoutes(service),
    ...provisioningRoutes(service),
    ...agentRoutes(service),
    ...chatSourceRoutes(service),
    ...chatMessageRoutes(service),
    ...chatHistoryRoutes(service),
    ...cronJobRoutes(service),
    ...uploadRoutes(service),
  ];
}
