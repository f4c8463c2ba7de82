import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CRON_JOBS } from '../support/cron.ts';
import { holdRequests, passOn, startFakeService } from '../support/fake-service.ts';
import { type Running, start, until } from '../support/program.ts';
import { propertyRuns } from '../support/properties.ts';
import { errorIn, run, tempDirectory } from '../support/run.ts';
import { manifest, PROVISION, service, write } from '../support/service.ts';
import { recordTypes } from '../support/state-file.ts';

/** @param more what every agent has */
const many = (count: number, more = ''): string =>
  write(
    'many.yaml',
    Array.from({ length: count }, (_, index) =>
      manifest(`s${index}`).replace('"Support" }', `"Support"${more} }`),
    ).join('---\n'),
  );

test('A second Ctrl-C exits immediately', async () => {
  const sandbox = await service();
  const { env, held } = await holdRequests(sandbox, ({ method }) => method === 'POST');
  const child = start(['provision', many(1), '-v', '-o', 'json'], { env });
  await held();
  child.kill('SIGINT');
  // The system may merge two pending signals, so repeat until the second one is delivered.
  const repeat = setInterval(() => child.kill('SIGINT'), 20);
  const ran = await child;
  clearInterval(repeat);
  // A run that ended normally would have printed its result.
  expect(ran).toMatchObject({ exitCode: 130, stdout: '' });
});

test('A second SIGHUP, which a shell sends in addition to the system, does not end the wait for the response', async () => {
  const sandbox = await service();
  const { env, held, release } = await holdRequests(sandbox, ({ method }) => method === 'POST');
  const child = start(['provision', many(2), '--concurrency', '1', '-v', '-o', 'json'], { env });
  await held();
  const noticed = until(child.stderr, /for the response; Ctrl-C again stops/);
  child.kill('SIGHUP');
  await noticed;
  child.kill('SIGHUP');
  release();
  const ran = await child;
  expect(ran.exitCode).toBe(129);
  expect(JSON.parse(ran.stdout).summary).toMatchObject({ created: 1, skipped: 1 });
});

test('Ctrl-C ends the wait for a retry', async () => {
  const sandbox = await service();
  await sandbox.faults({ kind: 'status', status: 503, retry_after: 60 });
  const child = start(['spaces', 'list', '-v', '-o', 'json'], { env: sandbox.env });
  await until(child.stderr, /waiting 60/);
  child.kill('SIGINT');
  const ran = await child;
  expect(ran).toMatchObject({ exitCode: 130, stdout: '' });
  expect(errorIn(ran.stderr).type).toBe('interrupted');
});

describe('Ctrl-C in a provision of many spaces, each with a chat and a job,', () => {
  const COUNT = propertyRuns(200, 12);
  const MORE = ", chat: {}, cron: [{ name: daily, instructions: Sum up., schedule: '0 9 * * *' }]";

  test.each([
    ['while spaces are installed', PROVISION],
    ['while chats are set up', '/api-chat/'],
    ['while jobs are created', CRON_JOBS],
  ])('%s, reports what was done, blocks nothing, and leaves nothing that a repeat does twice', async (_, path) => {
    const it = await service();
    let [child, count]: [Running | undefined, number] = [undefined, 0];
    const proxy = await startFakeService(async (request, response) => {
      const passed = await passOn(request, it.sandbox.baseUrl);
      const isCounted = request.method === 'POST' && request.path.includes(path);
      // Once: a second one would end it at once.
      if (isCounted && ++count === COUNT / 4) child?.kill('SIGINT');
      response.writeHead(passed.status, { 'content-type': 'application/json' }).end(passed.text);
    });
    const state = join(tempDirectory(), 'state.jsonl');
    const env = { ...it.env, PARTNER_BASE_URL: proxy.baseUrl, PARTNER_STATE: state };
    const args = ['provision', many(COUNT, MORE), '-o', 'json'];
    const sent = async (part: string) => (await it.posts()).filter(({ path: to }) => to.includes(part));
    child = start(args, { env });
    const { exitCode, stdout, stderr } = await child;
    expect(exitCode, stderr).toBe(130);

    const { results }: { results: Record<string, { cron_job_id?: string | null }[]>[] } = JSON.parse(stdout);
    expect(results).toHaveLength(COUNT);
    const [spaces, jobs] = [await sent(PROVISION), await sent(CRON_JOBS)];
    expect(results.filter(({ space_id }) => space_id)).toHaveLength(spaces.length);
    expect(results.flatMap(({ cron = [] }) => cron.filter((job) => job.cron_job_id))).toHaveLength(jobs.length);
    expect(jobs.length).toBeLessThan(COUNT);
    const records = await recordTypes(state);
    const recorded = (type: string) => records.filter((each) => each === type).length;
    expect(recorded('space')).toBe(spaces.length);
    expect(recorded('cron.created')).toBe(jobs.length);
    expect(recorded('cron.reserved')).toBe(jobs.length + recorded('cron.released'));

    const again = await run(args, { env });
    expect(again.code, again.stderr).toBe(0);
    expect(await sent(PROVISION)).toHaveLength(COUNT);
    expect(await sent(CRON_JOBS)).toHaveLength(COUNT);
  });
});
