/**
 * The scopes of a token that commands need (spec §5.3). The specification names three; for the others it says at most what
 * they are for.
 */
export const SCOPE = {
  readSpaces: 'spaces.read',
  readAgents: 'agents.read',
  createJobs: 'cron_jobs.write',
  listJobs: 'the one for listing scheduled jobs',
  provision: 'the one for provisioning',
  setUpChat: 'the one for API chat setup',
  chat: 'the one for API chat runtime',
  upload: 'the one for uploads',
} as const;

export type Scope = (typeof SCOPE)[keyof typeof SCOPE];
