import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { connectTo, PROVISION, provisionBody, type TestSandbox } from '../sandbox/client.ts';

/** What a command finds at the service before it runs, and the directory that it runs in. */
export interface World extends TestSandbox {
  readonly space: string;
  readonly agent: string;
  readonly source: string;
  readonly home: string;
  /** Everything at the service, one text per thing, such as `job agt_1 daily`. */
  things(): Promise<readonly string[]>;
  /** The content of every file that the commands wrote. */
  files(): Promise<string>;
  close(): Promise<void>;
}

/** Three items on two pages: lists have a first, a middle, and a last request. */
const PAGE_SIZE = 2;

/** Starts a service with three spaces, and in one of them an agent that has a chat source. */
export async function startWorld(): Promise<World> {
  const sandbox = await startSandbox();
  const token = await sandbox.createToken();
  const service = connectTo(sandbox, token);
  const { partner, admin } = service;
  const home = await mkdtemp(join(tmpdir(), 'partnerctl-faults-'));
  // The worst that the specification allows.
  await admin('PATCH', '/settings', { agents_on_repeat: 'install', page_size: PAGE_SIZE });
  const { json } = await partner('POST', PROVISION, { body: provisionBody('acme') });
  const [{ agent_id, integrations }] = json.agents;
  await admin('POST', '/spaces', { count: 2, prefix: 'other' });
  const close = async (): Promise<void> => {
    await sandbox.close();
    await rm(home, { recursive: true, force: true });
  };
  const ids = { space: json.space.space_id, agent: agent_id, source: integrations.api_chat.source_id };
  const world = { ...service, ...ids, home, close };
  return { ...world, things: () => listThings(world), files: () => readFiles(home) };
}

async function listThings({ partner, admin, source }: Pick<World, 'partner' | 'admin' | 'source'>): Promise<string[]> {
  const all = async (path: string) => (await partner('GET', `${path}?page_size=1000`)).json.results;
  const things: string[] = [];
  for (const { space_id, external_space_id } of await all('/automation/spaces/')) {
    things.push(`space ${external_space_id}`);
    for (const { name } of await all(`/automation/spaces/${space_id}/agents/`)) {
      things.push(`agent ${external_space_id} ${name}`);
    }
  }
  for (const { name } of (await admin('GET', '/cron-jobs')).json.cron_jobs) things.push(`job ${name}`);
  for (const { name, filename } of (await admin('GET', '/uploads')).json.uploads)
    things.push(`file ${name ?? filename}`);
  const query = new URLSearchParams({ source_id: source, session_id: 'anna', page_size: '1000' });
  const history = await partner('GET', `/integrations/api-chat/history/?${query}`);
  for (const { role, text } of history.json?.results ?? []) if (role === 'user') things.push(`message ${text}`);
  return things.toSorted();
}

async function readFiles(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(paths.map(async (path) => `${path}\n${await readFile(path, 'utf8')}`));
  return texts.join('\n');
}
