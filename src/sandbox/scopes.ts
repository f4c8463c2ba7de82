import * as v from 'valibot';

/**
 * What a token may be allowed to do. `spaces.read`, `agents.read` and `cron_jobs.write` are named in spec §5;
 * the spec leaves the names of the others open, so they are this service's own.
 */
export const SCOPES = [
  'spaces.read',
  'spaces.provision',
  'agents.read',
  'api_chat.setup',
  'api_chat.runtime',
  'documents.read',
  'documents.write',
  'file_attachments.read',
  'file_attachments.write',
  'cron_jobs.read',
  'cron_jobs.write',
] as const;

export type Scope = (typeof SCOPES)[number];

export const scopeSchema = v.picklist(SCOPES, `must be one of ${SCOPES.join(', ')}`);
