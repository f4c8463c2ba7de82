import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { type Handler, json, sendJson, startFakeService } from '../support/fake-service.ts';
import { partnerctl, type Ran, tempDirectory } from '../support/run.ts';
import { manifest } from '../support/service.ts';
import { readJobLog } from '../support/state-file.ts';

interface ListedJob {
  readonly cron_job_id: string;
  readonly agent_id: string;
  readonly name: string;
}

/** A service that creates a job for every POST and lists them all, and an empty state file. */
async function setUp() {
  const jobs: ListedJob[] = [];
  const state = join(tempDirectory(), 'state.jsonl');
  let list: Handler = (_, response) => sendJson(response, jobs);
  const service = await startFakeService((request, response, count) => {
    if (request.method === 'GET') return list(request, response, count);
    const job = { ...request.json<ListedJob>(), cron_job_id: `c${jobs.length + 1}` };
    jobs.push(job);
    return sendJson(response, job, 201);
  });
  const run = (args: readonly string[]) => partnerctl(service.baseUrl, [...args, '--state', state]);
  return {
    state,
    posts: () => service.posts().length,
    /** Replaces the list of the service. */
    onList: (handler: Handler) => {
      list = handler;
    },
    create: (name: string, ...more: string[]) => run(createArgs('a1', name, ...more)),
    run,
  };
}

const page =
  (status: number, body = '<html><title>Not Found</title></html>', type = 'text/html'): Handler =>
  (_, response) =>
    response.writeHead(status, { 'content-type': type }).end(body);

describe('a list of jobs that the service rejects', () => {
  it.each<[string, Handler]>([
    ['403 in JSON', json({ message: 'No.' }, 403)],
    ['405 as problem+json', page(405, '{"title":"No.","status":405}', 'application/problem+json')],
    ['204', page(204, '')],
  ])('leaves the guard to the state file: %s', async (_, handler) => {
    const at = await setUp();
    at.onList(handler);
    const created = await at.create('daily');
    expect(created.json()).toMatchObject({ status: 'created' });
    expect(created.stderr.match(/Only the state prevents duplicates/g)).toHaveLength(1);
    expect((await at.create('daily')).code).toBe(5);
    expect(at.posts()).toBe(1);
  });

  it('stops the creation before anything is written for any other reason, and says that the job was not sent', async () => {
    const at = await setUp();
    for (const [status, code] of [
      [402, 6],
      [429, 7],
    ] as const) {
      at.onList(json({ message: 'No.' }, status));
      const failed = await at.create('daily');
      expect(failed).toMatchObject({ code, stdout: '' });
      expect(failed.stderr).toContain('the list of jobs');
      expect(failed.error().hint).toContain('The job was not sent');
    }
    expect(at.posts()).toBe(0);
    expect((await readJobLog(at.state)).records).toEqual([]);
  });
});

describe('a list of jobs that was read before', () => {
  it('does not count as absent after 404', async () => {
    const at = await setUp();
    expect((await at.create('daily')).code).toBe(0);
    at.onList(json({ message: 'No.' }, 404));
    const failed = await at.create('weekly');
    expect(failed.code).toBe(8);
    expect(failed.error().message).toBe('Cannot read the list of jobs (404), but it was read before.');
    expect(failed.error().hint).toContain('check the base URL');
    expect((await at.create('daily', '--ensure')).json()).toMatchObject({ status: 'exists' });
    expect((await at.run(['cron', 'reconcile', '-o', 'json'])).code).toBe(0);
    expect(at.posts()).toBe(1);
  });
});

describe('provision', () => {
  async function provision(list: Handler): Promise<Ran & { posts: number }> {
    const space = { space_id: 's1', agents: [{ agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' }] };
    const service = await startFakeService({ 'GET *': list, 'POST *': json(space, 201) });
    const ran = await partnerctl(service.baseUrl, ['provision', '-', '-o', 'json'], { stdin: manifest('acme') });
    return { ...ran, posts: service.posts().length };
  }

  it('continues with a notice if the service denies its lists, but not if it rejects the token', async () => {
    const ran = await provision(json({ message: 'No.' }, 403));
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('(403)'), posts: 1 });
    expect(await provision(json({ message: 'No.' }, 401))).toMatchObject({ code: 3, posts: 0 });
  });

  it('sends nothing if a later page is denied', async () => {
    const first = { results: [{ space_id: 's9', external_space_id: 'other' }], next: '?page=2' };
    const ran = await provision((request, response) =>
      request.query.has('page') ? sendJson(response, { message: 'No.' }, 403) : sendJson(response, first),
    );
    expect(ran).toMatchObject({ code: 8, posts: 0 });
    expect(ran.error().message).toContain('the list of spaces (403)');
  });
});
