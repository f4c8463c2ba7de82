import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '../../../src/sandbox/index.ts';
import { HISTORY, MESSAGE } from '../../support/sandbox-chat.ts';
import { connectTo, PROVISION, provisionBody, SPACES, type TestSandbox } from '../../support/sandbox-client.ts';
import { CRON_JOBS, jobBody } from '../../support/sandbox-cron.ts';
import type { ServiceResponse } from './http-message.ts';

/** What a command finds at the service before it runs, and the directory that it runs in. */
export interface World extends TestSandbox {
  readonly space: string;
  readonly agent: string;
  readonly source: string;
  /** The message to which the agent has replied. */
  readonly message: string;
  /** A job that no state file knows. */
  readonly job: string;
  readonly home: string;
  /** Everything at the service, one text per thing, such as `job Support daily`. */
  things(): Promise<readonly string[]>;
  /** The current responses to reads, by path and query. */
  freeze(): Promise<(path: string) => ServiceResponse>;
  /** The content of every file that the commands wrote, without the stored profiles. */
  files(): Promise<string>;
  close(): Promise<void>;
}

/** Five spaces on three pages: their list has a first, a middle, and a last request. */
const PAGE_SIZE = 2;

const SESSION = 'anna';
/** Spaces without agents. */
const OTHERS = 'other';

type Service = Pick<TestSandbox, 'partner' | 'admin'>;

/** Starts a service with five spaces, and in one of them an agent with a job and a chat source with a short session. */
export async function startWorld(): Promise<World> {
  const sandbox = await startSandbox({ script: [{ pattern: '', replies: [{ text: 'Noted.', delay_ms: 0 }] }] });
  const token = await sandbox.createToken();
  const service = connectTo(sandbox, token);
  const { partner, admin } = service;
  const home = await mkdtemp(join(tmpdir(), 'partnerctl-faults-'));
  // The worst that the specification allows.
  await admin('PATCH', '/settings', { agents_on_repeat: 'install', page_size: PAGE_SIZE });
  const { json } = await partner('POST', PROVISION, { body: provisionBody('acme') });
  const [{ agent_id, integrations }] = json.agents;
  const { source_id } = integrations.api_chat;
  await admin('POST', '/spaces', { count: 4, prefix: OTHERS });
  const message = { source_id, session_id: SESSION, text: 'Hello.', external_message_id: 'e1' };
  const sent = await partner('POST', MESSAGE, { body: message });
  await admin('POST', '/messages', { source_id, session_id: SESSION, role: 'user', text: 'Again.' });
  await admin('POST', '/messages', { source_id, session_id: SESSION, role: 'assistant', text: 'Yes.' });
  const job = await partner('POST', CRON_JOBS, { body: jobBody(agent_id) });
  const ids = { agent: agent_id, source: source_id, message: sent.json.message_id, job: job.json.cron_job_id };
  return {
    ...service,
    ...ids,
    space: json.space.space_id,
    home,
    things: () => listThings(service, source_id),
    freeze: () => freeze(service),
    files: () => readFiles(home),
    close: async () => {
      await sandbox.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function listThings({ partner, admin }: Service, source: string): Promise<string[]> {
  const all = async (path: string) => (await partner('GET', `${path}?page_size=1000`)).json.results;
  const things: string[] = [];
  const names = new Map<string, string>();
  for (const { space_id, external_space_id } of await all(SPACES)) {
    things.push(`space ${external_space_id}`);
    if (external_space_id.startsWith(OTHERS)) continue;
    for (const { agent_id, name } of await all(`${SPACES}${space_id}/agents/`)) {
      names.set(agent_id, `${external_space_id} ${name}`);
      things.push(`agent ${names.get(agent_id)}`);
    }
  }
  const { json: cron } = await admin('GET', '/cron-jobs');
  for (const { agent_id, name } of cron.cron_jobs) things.push(`job ${names.get(agent_id)} ${name}`);
  const { json: uploads } = await admin('GET', '/uploads');
  for (const { name, filename } of uploads.uploads) things.push(`file ${name ?? filename}`);
  const query = new URLSearchParams({ source_id: source, session_id: SESSION, page_size: '1000' });
  const { json: history } = await partner('GET', `${HISTORY}?${query}`);
  for (const { role, text } of history.results) if (role === 'user') things.push(`message ${text}`);
  return things.toSorted();
}

/** Reads every page of every list. */
async function freeze({ partner }: Service): Promise<(path: string) => ServiceResponse> {
  const pages = new Map<string, ServiceResponse>();
  const read = async (path: string): Promise<unknown[]> => {
    const { status, text, json } = await partner('GET', path);
    pages.set(`/v1${path}`, { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) });
    if (json.next === null) return json.results;
    const next = new URL(json.next);
    return [...json.results, ...(await read(next.pathname.replace('/v1', '') + next.search))];
  };
  for (const space of await read(SPACES)) {
    if (typeof space === 'object' && space !== null && 'space_id' in space) {
      await read(`${SPACES}${space.space_id}/agents/`);
    }
  }
  await read(CRON_JOBS);
  const json = (status: number, body: object): ServiceResponse => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  });
  const emptyPage = json(200, { count: 0, next: null, previous: null, results: [] });
  const notFound = json(404, { error: { code: 'space_not_found', message: 'There is no such space.' } });
  return (path) => pages.get(path) ?? (path.includes(HISTORY) ? emptyPage : notFound);
}

async function readFiles(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(
    paths
      .filter((path) => !path.endsWith('config.json'))
      .map(async (path) => `${path}\n${await readFile(path, 'utf8')}`),
  );
  return texts.join('\n');
}
