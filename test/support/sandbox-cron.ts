import { expect } from 'vitest';
import { type Chat, createChat, type HistoryEntry, type RoutingMode } from './sandbox-chat.ts';
import type { ApiResponse, SandboxClient } from './sandbox-client.ts';

export const CRON_JOBS = '/automation/partner-cron-jobs/';

/** A valid body for a job: weekdays at nine in Berlin; `more` replaces fields. */
export function jobBody(agent_id: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    agent_id,
    name: 'Morning report',
    instructions: 'Write the report.',
    schedule: { type: 'cron', data: { minute: '0', hour: '9', day_of_week: '1-5' }, timezone: 'Europe/Berlin' },
    ...more,
  };
}

/** The schedule part of a body, from `minute hour day_of_week`. */
export function scheduleBody(fields: string, timezone = 'UTC'): Record<string, unknown> {
  const [minute, hour, day_of_week] = fields.split(' ');
  return { schedule: { type: 'cron', data: { minute, hour, day_of_week }, timezone } };
}

interface Job {
  readonly cron_job_id: string;
  readonly next_run_at: string | null;
  readonly last_run_at: string | null;
}

export interface CronClient {
  readonly chat: Chat;
  post(more?: Record<string, unknown>): Promise<ApiResponse>;
  /** Creates a job from `minute hour day_of_week`. */
  create(fields: string, timezone?: string, more?: Record<string, unknown>): Promise<Job>;
  jobs(): Promise<readonly Job[]>;
  /** All messages in the session of a job. */
  history(job: Job): Promise<HistoryEntry[]>;
  /** The times of a job's runs, in ISO 8601. */
  runs(job: Job): Promise<string[]>;
  clock(change: Record<string, unknown>): Promise<ApiResponse>;
}

/** Provisions an agent, and returns a client for its jobs. */
export async function createCronClient(on: SandboxClient, mode: RoutingMode = 'session_workflow'): Promise<CronClient> {
  const chat = await createChat(on, mode);
  const post = (more?: Record<string, unknown>): Promise<ApiResponse> =>
    on.partner('POST', CRON_JOBS, { body: jobBody(chat.agent_id, more) });
  const plan: CronClient = {
    chat,
    post,
    create: async (fields, timezone, more = {}) => {
      const { status, json } = await post({ ...scheduleBody(fields, timezone), ...more });
      expect(status).toBe(201);
      return json;
    },
    jobs: async () => (await on.partner('GET', `${CRON_JOBS}?page_size=1000`)).json.results,
    history: ({ cron_job_id }) => chat.history({ session_id: `cron:${cron_job_id}`, page_size: '1000' }),
    runs: async (job) =>
      (await plan.history(job)).filter(({ role }) => role === 'user').map(({ created_at }) => created_at),
    clock: async (change) => {
      const answer = await on.admin('PATCH', '/clock', change);
      expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
      return answer;
    },
  };
  return plan;
}
