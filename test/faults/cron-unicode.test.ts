import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { encodeVersion1 } from '../support/earlier-version.ts';
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

/** The records as the first version of the program wrote them: it derived the key from the name as typed. */
function asFirstVersion(text: string, baseUrl: string): { text: string; key: string } {
  const hash = (...parts: string[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24);
  const key = hash(baseUrl, 'a1', NFD);
  const lines = text.split('\n').map((line) => {
    if (line === '') return line;
    const { v: _, sum: __, ...record } = JSON.parse(line);
    return encodeVersion1({ ...record, key });
  });
  return { text: lines.join('\n'), key };
}

describe('records with the key of a decomposed name, as the first version wrote them', () => {
  it.each([NFC, NFD])('block the job %j', async (name) => {
    const it = await setUp();
    await it.create(NFD);
    writeFileSync(it.path, asFirstVersion(readFileSync(it.path, 'utf8'), it.service.baseUrl).text);
    expect((await it.create(name)).json()).toMatchObject({ status: 'blocked', cron_job_id: 'c1' });
    expect((await it.create(name, '--ensure')).json()).toMatchObject({ status: 'exists', cron_job_id: 'c1' });
    expect(posts(it.service)).toHaveLength(1);
  });

  it.each([NFC, NFD])('block the job %j if they are damaged', async (name) => {
    const it = await setUp();
    await it.create(NFD);
    const created = readFileSync(it.path, 'utf8').trim().split('\n').at(-1) ?? '';
    const { text } = asFirstVersion(created, it.service.baseUrl);
    writeFileSync(it.path, `${text.replace('"cron_job_id":"c', '"cron_job_id":"b')}\n`);
    expect((await it.create(name)).code).toBe(9);
    expect(posts(it.service)).toHaveLength(1);
  });

  it('are found and forgotten by their old key and by the new one', async () => {
    const it = await setUp();
    const created = (await it.create(NFD)).json<{ key: string }>();
    const old = asFirstVersion(readFileSync(it.path, 'utf8'), it.service.baseUrl);
    expect(old.key).not.toBe(created.key);
    for (const key of [old.key, created.key]) {
      writeFileSync(it.path, old.text);
      expect((await it.run('cron', 'adopt', 'c1', '--key', key, '--yes', '-o', 'json')).json()).toMatchObject({
        cron_job_id: 'c1',
        key: created.key,
      });
      writeFileSync(it.path, old.text);
      expect((await it.run('cron', 'forget', key, '--yes')).code).toBe(0);
      expect((await it.create(NFC)).code).toBe(0);
    }
  });
});
