import type { Service } from '../service.ts';
import { chatAdmin } from './chat.ts';
import { clockAdmin } from './clock.ts';
import { cronAdmin } from './cron.ts';
import { dataAdmin } from './data.ts';
import { observationAdmin } from './observation.ts';
import type { AdminRoute } from './route.ts';
import { settingsAdmin } from './settings.ts';
import { tokenAdmin } from './tokens.ts';
import { uploadAdmin } from './uploads.ts';

/** Everything below `/_sandbox`. */
export function adminRoutes(service: Service): AdminRoute[] {
  return [
    ...tokenAdmin(service),
    ...settingsAdmin(service),
    ...observationAdmin(service),
    ...dataAdmin(service),
    ...chatAdmin(service),
    ...cronAdmin(service),
    ...uploadAdmin(service),
    ...clockAdmin(service),
  ];
}
