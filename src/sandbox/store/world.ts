import type { ReplyScript } from '../agents/reply-script.ts';
import { DEFAULT_SETTINGS, type Settings } from '../settings.ts';
import type {
  Agent,
  AgentRun,
  Change,
  ChatSource,
  ClockState,
  CronJob,
  Message,
  Space,
  Template,
  Token,
  Upload,
  Webhook,
} from './changes.ts';
import { Deliveries } from './deliveries.ts';
import { Session } from './session.ts';

/** The templates that are approved by default. */
const DEFAULT_TEMPLATES: readonly Template[] = [
  { template_id: 'tmpl_support', name: 'Customer support' },
  { template_id: 'tmpl_sales', name: 'Sales assistant' },
  { template_id: 'tmpl_onboarding', name: 'Onboarding guide' },
  { template_id: 'tmpl_billing', name: 'Billing questions' },
];

const MACHINE_CLOCK: ClockState = { frozen_at: null, offset_ms: 0 };

function sessionKey(sourceId: string, sessionId: string): string {
  return JSON.stringify([sourceId, sessionId]);
}

/** The service's data in memory; each map is in the order of creation. Only `apply` changes it. */
export class World {
  readonly tokens = new Map<string, Token>();
  readonly templates = new Map<string, Template>();
  readonly spaces = new Map<string, Space>();
  readonly agents = new Map<string, Agent>();
  readonly sources = new Map<string, ChatSource>();
  readonly sessions = new Map<string, Session>();
  readonly cronJobs = new Map<string, CronJob>();
  /** When each job last ran, in ISO 8601, by the job's id. */
  readonly lastRuns = new Map<string, string>();
  readonly uploads = new Map<string, Upload>();
  readonly webhooks = new Map<string, Webhook>();
  readonly deliveries = new Deliveries();
  readonly #spaceByExternalId = new Map<string, Space>();
  readonly #agentsBySpace = new Map<string, Agent[]>();
  readonly #sourceByAgent = new Map<string, ChatSource>();
  clock = MACHINE_CLOCK;
  script: ReplyScript = [];
  settings: Settings = DEFAULT_SETTINGS;

  constructor() {
    this.#approve(DEFAULT_TEMPLATES);
  }

  findToken(secretHash: string): Token | undefined {
    return [...this.tokens.values()].find(({ secret_sha256 }) => secret_sha256 === secretHash);
  }

  findSpace(externalId: string): Space | undefined {
    return this.#spaceByExternalId.get(externalId);
  }

  agentsOf(spaceId: string): readonly Agent[] {
    return this.#agentsBySpace.get(spaceId) ?? [];
  }

  sourceOf(agentId: string): ChatSource | undefined {
    return this.#sourceByAgent.get(agentId);
  }

  /** Undefined for a session without messages. */
  session(sourceId: string, sessionId: string): Session | undefined {
    return this.sessions.get(sessionKey(sourceId, sessionId));
  }

  findMessage({ source_id, session_id, message_id }: Pick<Message, 'source_id' | 'session_id' | 'message_id'>) {
    const session = this.session(source_id, session_id);
    return session?.messages[session.indexOf(message_id) ?? -1];
  }

  /** The messages of every session of a source, oldest first. */
  messagesOf(sourceId: string): readonly Message[] {
    const sessions = [...this.sessions.values()].filter(({ source_id }) => source_id === sourceId);
    return sessions.flatMap(({ messages }) => messages).sort((a, b) => a.created_at.localeCompare(b.created_at));
  }

  apply(change: Change): void {
    switch (change.kind) {
      case 'token':
        this.tokens.set(change.token.token_id, change.token);
        return;
      case 'token_deleted':
        this.tokens.delete(change.token_id);
        return;
      case 'settings':
        this.settings = change.settings;
        return;
      case 'template':
        this.#approve([change.template]);
        return;
      case 'space':
        this.#addSpace(change.space);
        return;
      case 'agent':
        this.#addAgent(change.agent);
        return;
      case 'source':
        this.#addSource(change.source);
        return;
      case 'script':
        this.script = change.script;
        return;
      case 'message':
        this.#openSession(change.message).add(change.message, change.needs_reply);
        return;
      case 'agent_run':
        this.#openSession(change.run).planReplies(change.run.replies);
        return;
      case 'cron_job':
        this.cronJobs.set(change.job.cron_job_id, change.job);
        return;
      case 'cron_job_deleted':
        this.cronJobs.delete(change.cron_job_id);
        this.lastRuns.delete(change.cron_job_id);
        return;
      case 'cron_run':
        this.lastRuns.set(change.cron_job_id, change.scheduled_for);
        return;
      case 'upload':
        this.uploads.set(change.upload.upload_id, change.upload);
        return;
      case 'webhook':
      case 'webhook_deleted':
      case 'delivery':
      case 'delivery_attempt':
      case 'delivery_replayed':
        this.#applyToWebhooks(change);
        return;
      case 'clock':
        this.clock = change.clock;
        return;
      case 'reset':
        this.#reset(change.keep_tokens);
        return;
    }
  }

  #applyToWebhooks(change: Extract<Change, { kind: `webhook${string}` | `delivery${string}` }>): void {
    switch (change.kind) {
      case 'webhook':
        this.webhooks.set(change.webhook.webhook_id, change.webhook);
        return;
      case 'webhook_deleted':
        this.webhooks.delete(change.webhook_id);
        this.deliveries.cancel(change.webhook_id);
        return;
      case 'delivery':
        this.deliveries.add(change.delivery);
        return;
      case 'delivery_attempt':
        this.deliveries.recordAttempt(change.delivery_id, change.attempt, change.next_attempt_at);
        return;
      case 'delivery_replayed':
        this.deliveries.replay(change.delivery_id, change.due_at);
        return;
    }
  }

  #approve(templates: readonly Template[]): void {
    for (const template of templates) this.templates.set(template.template_id, template);
  }

  #addSpace(space: Space): void {
    this.spaces.set(space.space_id, space);
    this.#spaceByExternalId.set(space.external_space_id, space);
  }

  #addAgent(agent: Agent): void {
    this.agents.set(agent.agent_id, agent);
    const siblings = this.#agentsBySpace.get(agent.space_id);
    if (siblings) siblings.push(agent);
    else this.#agentsBySpace.set(agent.space_id, [agent]);
  }

  #addSource(source: ChatSource): void {
    this.sources.set(source.source_id, source);
    this.#sourceByAgent.set(source.agent_id, source);
  }

  #openSession({ source_id, session_id }: Message | AgentRun): Session {
    const key = sessionKey(source_id, session_id);
    const existing = this.sessions.get(key);
    if (existing) return existing;
    const session = new Session(source_id, session_id);
    this.sessions.set(key, session);
    return session;
  }

  #reset(keepTokens: boolean): void {
    for (const { token_id, source_id } of [...this.tokens.values()]) {
      // An API chat token cannot outlive its source.
      if (!keepTokens || source_id !== null) this.tokens.delete(token_id);
    }
    for (const { webhook_id, source_id } of [...this.webhooks.values()]) {
      if (!keepTokens || source_id !== null) this.webhooks.delete(webhook_id);
    }
    this.deliveries.clear();
    const { templates, spaces, agents, sources, sessions, cronJobs, lastRuns, uploads } = this;
    for (const map of [templates, spaces, agents, sources, sessions, cronJobs, lastRuns, uploads]) map.clear();
    for (const index of [this.#spaceByExternalId, this.#agentsBySpace, this.#sourceByAgent]) index.clear();
    this.clock = MACHINE_CLOCK;
    this.script = [];
    this.settings = DEFAULT_SETTINGS;
    this.#approve(DEFAULT_TEMPLATES);
  }
}
