import { CHAT_OPERATIONS } from './chat.ts';
import { CRON_OPERATIONS } from './cron.ts';
import type { Operation } from './service.ts';
import { SPACE_OPERATIONS } from './spaces.ts';
import { UPLOAD_OPERATIONS } from './uploads.ts';

/** The partner API (spec §4). */
export const OPERATIONS: readonly Operation[] = [
  ...SPACE_OPERATIONS,
  ...CHAT_OPERATIONS,
  ...UPLOAD_OPERATIONS,
  ...CRON_OPERATIONS,
];
