import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { InterruptedError } from '../../src/errors.ts';
import { partnerctl } from '../support/api-client.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { manualSignals, tempDirectory } from '../support/run.ts';

const AGENT = '{ template_id: tmpl_support, name: Support }';
const documents = ['a', 'b', 'c', 'd'].map(
  (id) => `external_space_id: ${id}\nspace: { name: ${id} }\nagents: [${AGENT}]\n`,
);

describe('an interrupted provision', () => {
  it('finishes the job that was sent, creates no other, and is completed by the next run', async () => {
    const signals = manualSignals();
    const state = join(tempDirectory(), 'state.jsonl');
    const jobs: unknown[] = [];
    const agent = { agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' };
    const server = await startFakeService(({ method, path, body }, response) => {
      if (method === 'POST') {
        // Ctrl-C arrives while the first job is being created.
        if (jobs.length === 0) signals.abort(new InterruptedError('Interrupted.'));
        const job = { cron_job_id: `cron_${jobs.length}`, ...JSON.parse(body) };
        jobs.push(job);
        sendJson(response, job, 201);
      } else if (path.endsWith('/agents/')) sendJson(response, [agent]);
      else sendJson(response, path.endsWith('/spaces/') ? [{ space_id: 's1', external_space_id: 'a' }] : jobs);
    });
    const job = (name: string) => `{ name: ${name}, instructions: x, schedule: '@daily' }`;
    const cron = `cron: [${job('first')}, ${job('second')}]`;
    const stdin = documents[0]?.replace(' }]', `, ${cron} }]`) ?? '';
    const argv = ['provision', '-', '-o', 'json', '--state', state];
    const ran = await partnerctl(server.baseUrl, argv, { stdin, signals, clock: systemClock });
    expect(ran.code).toBe(130);
    expect(ran.json()).toMatchObject({
      results: [
        {
          status: 'failed',
          space_id: 's1',
          cron: [
            { status: 'created', cron_job_id: 'cron_0' },
            { status: 'skipped', cron_job_id: null },
          ],
          error: { type: 'interrupted' },
        },
      ],
    });
    const again = await partnerctl(server.baseUrl, argv, { stdin });
    expect(again.json()).toMatchObject({
      results: [{ status: 'reused', cron: [{ status: 'exists' }, { status: 'created' }] }],
    });
    expect(jobs).toHaveLength(2);
  });

  it('says that the space may have been provisioned if it was still checking a lost request', async () => {
    const signals = manualSignals();
    const server = await startFakeService({
      'GET *': json([]),
      'POST *': json({ detail: 'overloaded' }, 503),
    });
    const clock: Clock = {
      ...systemClock,
      async sleep(_, signal) {
        signals.abort(new InterruptedError('Interrupted.'));
        signal?.throwIfAborted();
      },
    };
    const ran = await partnerctl(server.baseUrl, ['provision', '-', '-o', 'json'], {
      stdin: documents[0] ?? '',
      signals,
      clock,
    });
    expect(ran.code).toBe(130);
    expect(ran.error().hint).toContain('may or may not have been provisioned');
  });

  it.each([
    ['one', 9],
    ['two', 130],
  ])('of %s documents still reports an earlier lost response and how to reconcile it: exit %i', async (count, code) => {
    const signals = manualSignals();
    const agent = { agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' };
    let posts = 0;
    const server = await startFakeService(({ method, path }, response) => {
      if (method === 'POST') {
        posts += 1;
        // Ctrl-C arrives while the second job is being created.
        if (posts === 2) signals.abort(new InterruptedError('Interrupted.'));
        if (posts === 1) response.socket?.resetAndDestroy();
        else sendJson(response, { cron_job_id: `cron_${posts}` }, 201);
      } else if (path.endsWith('/agents/')) sendJson(response, [agent]);
      else sendJson(response, path.endsWith('/spaces/') ? [{ space_id: 's1', external_space_id: 'a' }] : []);
    });
    const job = (name: string) => `{ name: ${name}, instructions: x, schedule: '@daily' }`;
    const jobs = `cron: [${['first', 'second', 'third'].map(job).join(', ')}]`;
    const scheduled = documents[0]?.replace(' }]', `, ${jobs} }]`) ?? '';
    const stdin = count === 'one' ? scheduled : `${scheduled}---\n${documents[1]}`;
    const argv = ['provision', '-', '-o', 'json', '--concurrency', '1'];
    const ran = await partnerctl(server.baseUrl, argv, { stdin, signals, clock: systemClock });
    expect(ran.code).toBe(code);
    const hint = expect.stringContaining('partnerctl cron reconcile');
    const { error } = JSON.parse(ran.stderr.trim().split('\n').at(-1) ?? '');
    expect(error).toMatchObject({ hint });
    const cron = [{ status: 'unknown' }, { status: 'created' }, { status: 'skipped' }];
    expect(ran.json<{ results: object[] }>().results[0]).toMatchObject({
      status: 'failed',
      cron,
      error: { type: 'outcome_unknown', hint },
    });
  });
});
