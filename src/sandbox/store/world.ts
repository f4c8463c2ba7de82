import * as v from 'valibot';
import { type SettledScript, scriptSchema } from '../chat/script.ts';
import { DEFAULT_SETTINGS, type Settings, settingsSchema } from '../settings.ts';
import { DEFAULT_TEMPLATES, type TemplateRecord, templateSchema } from '../templates.ts';
import { AgentTable, agentRecordSchema, sourceRecordSchema } from './agents.ts';
import { type ClockRecord, clockRecordSchema, MACHINE_CLOCK } from './clock.ts';
import { CronJobTable, cronJobRecordSchema, cronRunRecordSchema } from './cron-jobs.ts';
import { messageRecordSchema, runRecordSchema, type Thread, ThreadTable } from './messages.ts';
import { SpaceTable, spaceRecordSchema } from './spaces.ts';
import { TokenTable, tokenRecordSchema } from './tokens.ts';
import { UploadTable, uploadRecordSchema } from './uploads.ts';

/** One thing that happened. The service's data is what all its changes add up to, in order. */
export const changeSchema = v.variant('kind', [
  v.strictObject({ kind: v.literal('token'), token: tokenRecordSchema }),
  v.strictObject({ kind: v.literal('token_deleted'), token_id: v.string() }),
  v.strictObject({ kind: v.literal('settings'), settings: settingsSchema }),
  v.strictObject({ kind: v.literal('template'), template: templateSchema }),
  v.strictObject({ kind: v.literal('space'), space: spaceRecordSchema }),
  v.strictObject({ kind: v.literal('agent'), agent: agentRecordSchema }),
  v.strictObject({ kind: v.literal('source'), source: sourceRecordSchema }),
  v.strictObject({ kind: v.literal('script'), script: scriptSchema }),
  v.strictObject({ kind: v.literal('message'), message: messageRecordSchema, waits: v.boolean() }),
  v.strictObject({ kind: v.literal('run'), run: runRecordSchema }),
  v.strictObject({ kind: v.literal('cron_job'), job: cronJobRecordSchema }),
  v.strictObject({ kind: v.literal('cron_job_deleted'), cron_job_id: v.string() }),
  v.strictObject({ kind: v.literal('cron_run'), run: cronRunRecordSchema }),
  v.strictObject({ kind: v.literal('upload'), upload: uploadRecordSchema }),
  v.strictObject({ kind: v.literal('clock'), clock: clockRecordSchema }),
  v.strictObject({ kind: v.literal('reset'), keep_tokens: v.boolean() }),
]);

export type Change = v.InferOutput<typeof changeSchema>;

function* changesOf({ source_id, session_id, messages, waiting, pending }: Thread): Generator<Change> {
  // The run is first, for it takes what waits.
  if (pending.length > 0) yield { kind: 'run', run: { source_id, session_id, replies: [...pending] } };
  const stillWaiting = new Set(waiting);
  for (const message of messages) yield { kind: 'message', message, waits: stillWaiting.has(message) };
}

/** Everything the service knows, in memory. It changes by `apply` alone. */
export class World {
  tokens = new TokenTable();
  spaces = new SpaceTable();
  agents = new AgentTable();
  threads = new ThreadTable();
  cronJobs = new CronJobTable();
  uploads = new UploadTable();
  clock: ClockRecord = MACHINE_CLOCK;
  script: SettledScript = [];
  templates = new Map<string, TemplateRecord>();
  settings: Settings = DEFAULT_SETTINGS;

  constructor() {
    this.#approve(DEFAULT_TEMPLATES);
  }

  apply(change: Change): void {
    switch (change.kind) {
      case 'token':
        this.tokens.add(change.token);
        return;
      case 'token_deleted':
        this.tokens.remove(change.token_id);
        return;
      case 'settings':
        this.settings = change.settings;
        return;
      case 'template':
        this.#approve([change.template]);
        return;
      case 'space':
        this.spaces.add(change.space);
        return;
      case 'agent':
        this.agents.add(change.agent);
        return;
      case 'source':
        this.agents.addSource(change.source);
        return;
      case 'script':
        this.script = change.script;
        return;
      case 'message':
        this.threads.add(change.message, change.waits);
        return;
      case 'run':
        this.threads.run(change.run);
        return;
      case 'cron_job':
        this.cronJobs.add(change.job);
        return;
      case 'cron_job_deleted':
        this.cronJobs.remove(change.cron_job_id);
        return;
      case 'cron_run':
        this.cronJobs.ran(change.run);
        return;
      case 'upload':
        this.uploads.add(change.upload);
        return;
      case 'clock':
        this.clock = change.clock;
        return;
      case 'reset':
        this.#reset(change.keep_tokens);
        return;
    }
  }

  /** The shortest list of changes that leads from an empty world to this one. */
  *changes(): Generator<Change> {
    yield { kind: 'settings', settings: this.settings };
    for (const template of this.templates.values()) yield { kind: 'template', template };
    for (const token of this.tokens.all()) yield { kind: 'token', token };
    for (const space of this.spaces.all()) yield { kind: 'space', space };
    for (const agent of this.agents.all()) yield { kind: 'agent', agent };
    for (const source of this.agents.sources()) yield { kind: 'source', source };
    yield { kind: 'script', script: this.script };
    for (const thread of this.threads.all()) yield* changesOf(thread);
    for (const job of this.cronJobs.all()) yield { kind: 'cron_job', job };
    for (const run of this.cronJobs.lastRuns()) yield { kind: 'cron_run', run };
    for (const upload of this.uploads.all()) yield { kind: 'upload', upload };
    yield { kind: 'clock', clock: this.clock };
  }

  #approve(templates: readonly TemplateRecord[]): void {
    for (const template of templates) this.templates.set(template.template_id, template);
  }

  #reset(keepTokens: boolean): void {
    if (keepTokens) this.tokens.removeChatTokens();
    else this.tokens = new TokenTable();
    this.spaces = new SpaceTable();
    this.agents = new AgentTable();
    this.threads = new ThreadTable();
    this.cronJobs = new CronJobTable();
    this.uploads = new UploadTable();
    this.clock = MACHINE_CLOCK;
    this.script = [];
    this.templates = new Map();
    this.settings = DEFAULT_SETTINGS;
    this.#approve(DEFAULT_TEMPLATES);
  }
}
