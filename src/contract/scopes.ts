/** The token scopes that commands need (spec §5.3). The spec names three of them, and describes the others. */
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
