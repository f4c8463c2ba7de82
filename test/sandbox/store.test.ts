import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { createChat } from '../support/chat.ts';
import { CRON_JOBS, createCronClient } from '../support/cron.ts';
import { tempDirectory } from '../support/run.ts';
import { connectTo, PROVISION, provisionBody, SPACES, service } from '../support/service.ts';
import { ATTACHMENTS, fileForm, postForm } from '../support/uploads.ts';

const data = (): string => join(tempDirectory(), 'data');

/** A sandbox that the test closes itself. */
async function open(dataDir: string, now: () => number = Date.now) {
  const sandbox = await startSandbox({ dataDir, now });
  return connectTo(sandbox);
}

describe('a data directory', () => {
  test('keeps everything that was acknowledged', async () => {
    const dataDir = data();
    const first = await open(dataDir);
    const chat = await createChat(first);
    await first.admin('PUT', '/script', {
      rules: [{ pattern: 'hi', replies: [{ text: 'Hi!', delay_ms: 86_400_000 }] }],
    });
    await chat.send('hi');
    await postForm(first, ATTACHMENTS, fileForm('content'));
    await (await createCronClient(first, 'agent_inbox')).post();
    await first.admin('PATCH', '/settings', { page_size: 7 });
    await first.admin('PATCH', '/clock', { frozen: true, advance: '1h' });
    const paths = ['/settings', '/script', '/clock', '/cron-jobs', '/uploads'];
    const read = async ({ admin, partner }: typeof first) => [
      ...(await Promise.all(paths.map(async (path) => (await admin('GET', path)).json))),
      (await partner('GET', SPACES)).json.results,
      (await partner('GET', `${SPACES}${chat.space_id}/agents/`)).json.results,
      (await partner('GET', CRON_JOBS)).json.results,
    ];
    const before = await read(first);
    const history = await chat.history();
    await first.sandbox.close();

    const second = await open(dataDir);
    expect([second.token, second.sandbox.adminKey]).toEqual([first.token, first.sandbox.adminKey]);
    expect(await read(second)).toEqual(before);
    await second.admin('PATCH', '/clock', { advance: '1d' });
    const query = new URLSearchParams({ source_id: chat.source_id, session_id: 's1' });
    const { json } = await second.partner('GET', `/integrations/api-chat/history/?${query}`);
    expect(json.results).toEqual([...history, expect.objectContaining({ text: 'Hi!', role: 'assistant' })]);
    await second.sandbox.close();
  });

  test('is for its owner only, and used by one sandbox at a time', async () => {
    const dataDir = data();
    const on = await service({ dataDir });
    const mode = (name: string): number => statSync(join(dataDir, name)).mode & 0o777;
    expect([mode('.'), mode('journal.jsonl')]).toEqual([0o700, 0o600]);
    await expect(startSandbox({ dataDir })).rejects.toThrow(`${dataDir} is in use by another sandbox`);
    await on.sandbox.close();
    await (await startSandbox({ dataDir })).close();
    const settled = await Promise.allSettled(Array.from({ length: 8 }, () => startSandbox({ dataDir })));
    const started = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(started).toHaveLength(1);
    await started[0]?.close();
  });

  test('loses only a torn last line; a damaged line before it prevents the start', async () => {
    const dataDir = data();
    const journal = join(dataDir, 'journal.jsonl');
    const first = await open(dataDir);
    await first.partner('POST', PROVISION, { body: provisionBody('one') });
    await first.sandbox.close();
    const whole = readFileSync(journal, 'utf8');
    appendFileSync(journal, '[["spaces","spc_1",{"space_id');
    const second = await open(dataDir);
    expect((await second.partner('GET', SPACES)).json.count).toBe(1);
    await second.sandbox.close();
    expect(readFileSync(journal, 'utf8')).toContain(whole);
    writeFileSync(journal, `nonsense\n${whole}`);
    await expect(startSandbox({ dataDir })).rejects.toThrow('line 1 is damaged');
  });
});
