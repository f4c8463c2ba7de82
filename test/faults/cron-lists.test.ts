import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { type Handler, sendJson } from '../support/fake-service.ts';
import { fastClock } from '../support/run.ts';
import { jobService, type Made, stateFile } from './job-service.ts';

const reset: Handler = ({ method }, response) =>
  method === 'POST' ? response.socket?.resetAndDestroy() : sendJson(response, []);

const CREATE = createArgs('a1', 'daily');
const ASSUME = ['cron', 'reconcile', '--assume-not-created', '--grace', '1ms', '-o', 'json'];

it('a record of one service does not apply to a job of another service with the same id', async () => {
  const { run } = stateFile();
  const [staging, production] = [await jobService(), await jobService()];
  expect((await run(staging, CREATE)).json()).toMatchObject({ status: 'created', cron_job_id: '1' });
  production.meet(reset);
  expect((await run(production, CREATE)).code).toBe(9);
  production.meet(undefined);
  expect((await run(production, ASSUME)).json()).toMatchObject([{ status: 'adopted', cron_job_id: '1' }]);
  expect((await run(production, [...CREATE, '--ensure'])).json()).toMatchObject({ status: 'exists', cron_job_id: '1' });
  expect(production.made).toHaveLength(1);
});

it.each([
  ['a job with the same id', undefined],
  ['a job with the same name and an unknown outcome', reset],
])(
  'a list without agents blocks a job that may exist, even if the state file records %s for another service',
  async (_, trouble) => {
    const { path, run } = stateFile();
    const shown = ({ agent_id: _, ...job }: Made) => job;
    const [staging, production] = [await jobService({ shown }), await jobService({ shown })];
    expect((await run(production, CREATE)).json()).toMatchObject({ status: 'created' });
    rmSync(path);
    staging.meet(trouble);
    expect((await run(staging, CREATE)).code).toBe(trouble ? 9 : 0);
    const blocked = await run(production, CREATE);
    expect(blocked.code).toBe(5);
    expect(blocked.stderr).toContain('cron adopt 1 --agent a1');
    expect(production.made).toHaveLength(1);
  },
);

it('a job that was renamed at the service still exists', async () => {
  const { run } = stateFile();
  const service = await jobService({ shown: (job) => ({ ...job, name: 'daily (old)' }) });
  expect((await run(service, CREATE)).code).toBe(0);
  const clock = fastClock(Date.now() + 3_600_000);
  const later = await run(service, [...CREATE, '--ensure'], { clock });
  expect(later.json()).toMatchObject({ status: 'exists', cron_job_id: '1' });
});

describe.each([
  ['NFC', 'NFD'],
  ['NFD', 'NFC'],
])('a service that normalizes names to %s', (its, typed) => {
  const name = 'Übersicht'.normalize(typed);
  const create = createArgs('a1', name);
  const kept = (job: Made): Made => ({ ...job, name: job.name.normalize(its) });

  it('lists a job that is adopted, not created again, after the state file is lost', async () => {
    const { path, run } = stateFile();
    const service = await jobService({ kept });
    expect((await run(service, create)).code).toBe(0);
    rmSync(path);
    expect((await run(service, create)).json()).toMatchObject({ status: 'adopted', cron_job_id: '1' });
    expect(service.made).toHaveLength(1);
  });

  it.each([
    ['with its agent', {}],
    ['without its agent', { agent_id: undefined }],
  ])('lists a job %s that is adopted after its response was lost', async (_, more) => {
    const { run } = stateFile();
    const service = await jobService({ kept, shown: (job) => ({ ...job, ...more }) });
    service.meet(reset);
    expect((await run(service, create)).code).toBe(9);
    service.meet(undefined);
    expect((await run(service, ASSUME)).json()).toMatchObject([{ status: 'adopted', cron_job_id: '1' }]);
  });

  it('lists a job that cron adopt accepts by its original name', async () => {
    const { path, run } = stateFile();
    const service = await jobService({ kept });
    expect((await run(service, create)).code).toBe(0);
    rmSync(path);
    const adopted = await run(service, ['cron', 'adopt', '1', '--agent', 'a1', '--name', name, '--yes']);
    expect({ code: adopted.code, stderr: adopted.stderr }).toEqual({ code: 0, stderr: '' });
  });
});

it.each([
  ['the entire list', () => ({ results: [], errors: [{ code: 'timeout' }] })],
  [
    'a further page',
    (page: string | null) => (page ? { error: 'timeout' } : { results: [{ id: 9 }], next: '?page=2' }),
  ],
])('a failure with status 200 in place of %s does not mark an unlisted job as not created', async (_, body) => {
  const { run } = stateFile();
  const service = await jobService();
  service.meet(reset);
  expect((await run(service, CREATE)).code).toBe(9);
  service.meet(({ path }, response) => sendJson(response, body(new URL(path, 'http://here').searchParams.get('page'))));
  const failed = await run(service, ASSUME);
  expect(failed.code).toBe(8);
  expect(failed.error().message).toContain('reports an error');
  expect((await run(service, ['cron', 'adopt', '7', '--agent', 'a1', '--name', 'daily', '--yes'])).code).toBe(8);
  service.meet(undefined);
  expect((await run(service, ASSUME)).json()).toMatchObject([{ status: 'adopted', cron_job_id: '1' }]);
  expect(service.made).toHaveLength(1);
});

it('a list whose later page contains no list stops the creation', async () => {
  const { run } = stateFile();
  const service = await jobService();
  const first = { results: [{ id: 9, agent_id: 'a1', name: 'other' }], next: '?page=2' };
  service.meet(({ path }, response) => sendJson(response, path.includes('page=2') ? {} : first));
  expect((await run(service, CREATE)).code).toBe(8);
  expect(service.posts()).toBe(0);
});
