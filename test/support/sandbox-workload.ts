import { expect } from 'vitest';
import { createChat, type HistoryEntry, MESSAGE } from './sandbox-chat.ts';
import { call, PROVISION, provisionBody, SPACES, type TestSandbox } from './sandbox-client.ts';
import { CRON_JOBS, jobBody, scheduleBody } from './sandbox-cron.ts';
import { ATTACHMENTS, DOCUMENTS, expectWholeUploads, fileForm, postForm, uploadedFiles } from './sandbox-uploads.ts';

/** What a client was told before the sandbox was killed: everything that must exist afterwards. */
export interface Told {
  /** Space and agent ids, by external id. */
  readonly spaces: Map<string, string>;
  /** Texts by message id. */
  readonly messages: Map<string, string>;
  /** Names by id. */
  readonly jobs: Map<string, string>;
  readonly deletedJobs: Set<string>;
  /** File names by id. */
  readonly uploads: Map<string, string>;
  readonly templates: Set<string>;
  readonly tokens: string[];
  pageSize?: number;
  /** The time that the clock was moved to, in ISO 8601. */
  clock?: string;
}

export function nothingAcknowledged(): Told {
  const [spaces, messages, jobs, uploads] = [new Map(), new Map(), new Map(), new Map()];
  return { spaces, messages, jobs, deletedJobs: new Set(), uploads, templates: new Set(), tokens: [] };
}

const SCRIPT = [{ pattern: 'Report', fail: 'silent' }];

/** Runs tasks concurrently; rejects with the first failure once all are done. */
async function together(...acts: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(acts)) if (outcome.status === 'rejected') throw outcome.reason;
}

/** One of each kind of write, some concurrently. Rejects with a TypeError when the sandbox is killed. */
export async function writeEverything(on: TestSandbox, told: Told): Promise<void> {
  const { partner, admin } = on;
  const provision = async (id: string): Promise<void> => {
    const { json } = await partner('POST', PROVISION, { body: provisionBody(id) });
    told.spaces.set(id, `${json.space.space_id} ${json.agents[0].agent_id}`);
  };
  await together(provision('one'), provision('two'));
  await admin('PUT', '/script', { rules: SCRIPT });
  const chat = await createChat(on, 'agent_inbox');
  const send = async (text: string): Promise<void> => {
    const { json } = await chat.send(text, { external_message_id: text });
    told.messages.set(json.message_id, text);
  };
  await together(send('a'), send('b'), send('c'));
  const createJob = async (name: string): Promise<string> => {
    const body = jobBody(chat.agent_id, { name, instructions: 'Report.', ...scheduleBody('* * *') });
    const { json } = await partner('POST', CRON_JOBS, { body });
    told.jobs.set(json.cron_job_id, name);
    return json.cron_job_id;
  };
  await together(createJob('kept'), send('d'));
  const ended = await createJob('ended');
  await admin('DELETE', `/cron-jobs/${ended}`);
  told.deletedJobs.add(ended);
  const upload = async (path: string, name: string): Promise<void> => {
    const { json } = await postForm(on, path, fileForm(name.repeat(50_000), name));
    told.uploads.set(json.document_id ?? json.file_attachment_id, name);
  };
  await together(upload(ATTACHMENTS, 'file'), upload(DOCUMENTS, 'document'));
  await admin('PATCH', '/settings', { page_size: 7 });
  told.pageSize = 7;
  await admin('POST', '/templates', { template_id: 'tmpl_new', name: 'New' });
  told.templates.add('tmpl_new');
  told.tokens.push((await admin('POST', '/tokens', {})).json.token);
  const moved = await admin('PATCH', '/clock', { frozen: true, advance: '5m' });
  told.clock = moved.json.now;
  await send('e');
}

/** The items that occur more than once. */
function repeatedOf(items: readonly string[]): string[] {
  return items.filter((item, index) => items.indexOf(item) !== index);
}

export interface Examined {
  readonly lost: readonly string[];
  readonly duplicated: readonly string[];
}

/** Compares what exists after a kill with what the client was told, then repeats what may be repeated. */
export async function checkAfterKill(on: TestSandbox, dataDir: string, told: Told): Promise<Examined> {
  const lost: string[] = [];
  const duplicated: string[] = [];
  const { partner, admin } = on;
  const all = async (path: string) =>
    (await partner('GET', `${path}${path.includes('?') ? '&' : '?'}page_size=1000`)).json.results;
  const keep = (what: string, isThere: boolean): void => void (isThere || lost.push(what));

  const [settings, clock, templates] = await Promise.all(
    ['/settings', '/clock', '/templates'].map(async (path) => (await admin('GET', path)).json),
  );
  keep('settings', told.pageSize === undefined || settings.page_size === told.pageSize);
  keep('clock', told.clock === undefined || clock.now >= told.clock);
  for (const id of told.templates) {
    keep(
      id,
      templates.templates.some(({ template_id }: { template_id: string }) => template_id === id),
    );
  }
  for (const token of told.tokens)
    keep('token', (await call('GET', `${on.sandbox.baseUrl}${SPACES}`, { token })).status === 200);

  const jobs: { cron_job_id: string; name: string }[] = await all(CRON_JOBS);
  for (const [id, name] of told.jobs) {
    const isThere = jobs.some(({ cron_job_id }) => cron_job_id === id);
    if (told.deletedJobs.has(id)) keep(`the end of the job ${name}`, !isThere);
    else if (name === 'kept') keep(`the job ${name}`, isThere);
  }
  duplicated.push(...repeatedOf(jobs.map(({ name }) => name)));

  const uploads = await expectWholeUploads(on, dataDir);
  expect(await uploadedFiles(dataDir)).toHaveLength(uploads.length);
  const uploadIds = uploads.map(({ document_id, file_attachment_id }) => document_id ?? file_attachment_id ?? '');
  for (const [id, name] of told.uploads) keep(`the upload ${name}`, uploadIds.includes(id));
  duplicated.push(...repeatedOf(uploads.map(({ sha256 }) => sha256)));

  // A client repeats these with the same external ids.
  for (const id of ['one', 'two']) {
    const { json } = await partner('POST', PROVISION, { body: provisionBody(id) });
    keep(
      `the space ${id}`,
      [undefined, `${json.space.space_id} ${json.agents[0].agent_id}`].includes(told.spaces.get(id)),
    );
    duplicated.push(...(await all(`${SPACES}${json.space.space_id}/agents/`)).slice(1).map(() => `the agent of ${id}`));
  }
  const chat = await createChat(on, 'agent_inbox');
  for (const text of ['a', 'b', 'c', 'd', 'e']) {
    const body = { source_id: chat.source_id, session_id: 's1', text, external_message_id: text };
    expect((await partner('POST', MESSAGE, { body })).status).toBeLessThan(300);
  }
  await admin('PATCH', '/clock', { frozen: true, advance: '1m' });
  const entries = await chat.history();
  for (const [id, text] of told.messages) {
    keep(
      `the message ${text}`,
      entries.some((entry) => entry.message_id === id && entry.text === text),
    );
  }
  duplicated.push(...repeatedOf(textsOf(entries, 'user')));
  const replies = textsOf(entries, 'assistant').flatMap((text) => text.replace('You said: ', '').split('\n'));
  expect(replies.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
  for (const { cron_job_id } of jobs) {
    const runs = await chat.history({ session_id: `cron:${cron_job_id}` });
    duplicated.push(...repeatedOf(runs.map(({ external_message_id }) => external_message_id ?? '')));
  }
  const spaces: { external_space_id: string }[] = await all(SPACES);
  duplicated.push(...repeatedOf(spaces.map(({ external_space_id }) => external_space_id)));
  return { lost, duplicated };
}

function textsOf(entries: readonly HistoryEntry[], role: HistoryEntry['role']): string[] {
  return entries.filter((entry) => entry.role === role).map(({ text }) => text);
}
