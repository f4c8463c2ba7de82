import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { version1Job, writeVersion1Job } from '../support/earlier-version.ts';
import { type FakeService, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';

const NFC = 'café';
const NFD = NFC.normalize('NFD');

async function setUp() {
  const service = await startFakeService({
    'GET *': json({ code: 'forbidden' }, 403),
    'POST *': (_, response, count) => sendJson(response, { id: `c${count}` }, 201),
  });
  const path = join(tempDirectory(), 'state.jsonl');
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'token' };
  const act = (...args: string[]) => run([...args, '--state', path], { env });
  return {
    service,
    path,
    run: act,
    create: (name: string, ...more: string[]) => act(...createArgs('a1', name), ...more),
  };
}

function posts({ requests }: FakeService): string[] {
  return requests.filter(({ method }) => method === 'POST').map((request) => request.json<{ name: string }>().name);
}

describe('the record of a decomposed name, as the first version wrote it', () => {
  it.each([NFC, NFD])('blocks the job %j', async (name) => {
    const it = await setUp();
    writeVersion1Job(it.path, version1Job(it.service.baseUrl, 'a1', NFD), 'c1');
    expect((await it.create(name)).json()).toMatchObject({ status: 'blocked', cron_job_id: 'c1' });
    expect((await it.create(name, '--ensure')).json()).toMatchObject({ status: 'exists', cron_job_id: 'c1' });
    expect(posts(it.service)).toEqual([]);
  });

  it.each([NFC, NFD])('is forgotten as the job %j', async (name) => {
    const it = await setUp();
    writeVersion1Job(it.path, version1Job(it.service.baseUrl, 'a1', NFD), 'c1');
    expect((await it.run('cron', 'forget', '--agent', 'a1', '--name', name, '--yes')).code).toBe(0);
    expect((await it.create(NFC)).json()).toMatchObject({ status: 'created' });
  });
});
