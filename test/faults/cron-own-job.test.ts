import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { jobService, type Made, stateFile } from '../support/job-service.ts';
import { tempDirectory } from '../support/run.ts';

/* A list that shows a new job with another name or agent cannot keep other machines from creating it again. */

const OTHERWISE: readonly [string, string, (job: Made) => object, string][] = [
  ['collapses spaces', 'daily  report', ({ name }) => ({ name: name.replace(/\s+/g, ' ') }), '"daily report"'],
  ['cuts names', 'a report of all that happened', ({ name }) => ({ name: name.slice(0, 8) }), '"a report"'],
  ['slugs names', 'Daily Report', () => ({ name: 'daily-report' }), '"daily-report"'],
  ['escapes names', 'Q&A', ({ name }) => ({ name: name.replace('&', '&amp;') }), '"Q&amp;A"'],
  ['strips accents', 'täglich', () => ({ name: 'taglich' }), '"taglich"'],
  ['shows internal ids of agents', 'daily', () => ({ agent_id: 41 }), 'of agent 41;'],
];

describe.each(OTHERWISE)('a list that %s', (_, name, fields, shown) => {
  it('is reported once, with both names, after the job is created', async () => {
    const service = await jobService({ shown: (job) => ({ ...job, ...fields(job) }) });
    const created = await stateFile().run(service, createArgs('a1', name));
    expect(created.code).toBe(0);
    expect(created.json()).toMatchObject({ status: 'created' });
    expect(created.stderr).toContain(shown);
    expect(created.stderr).toContain(`it was created as ${JSON.stringify(name)} of agent a1.`);
    expect(created.stderr).toContain('only the state prevents duplicates');
    expect(created.stderr).toContain(
      `contract set cron_job.${shown.startsWith('of agent') ? 'agent_id' : 'name'} '<path>'`,
    );
  });
});

it.each<[string, (job: Made) => object]>([
  ['in Unicode NFD', ({ name }) => ({ name: name.normalize('NFD') })],
  ['without its agent', () => ({ agent_id: undefined })],
  ['with the address of its agent', ({ agent_id }) => ({ agent_id: `/v1/agents/${agent_id}/` })],
])('a job that is listed %s is recognized', async (_, fields) => {
  const service = await jobService({ shown: (job) => ({ ...job, ...fields(job) }) });
  const created = await stateFile().run(service, createArgs('a1', 'täglich'));
  expect(created).toMatchObject({ code: 0, stderr: '' });
});

it('a file of jobs is reported once', async () => {
  const service = await jobService({ shown: (job) => ({ ...job, name: job.name.toUpperCase() }) });
  const file = join(tempDirectory(), 'jobs.yaml');
  const job = (name: string) => `  - { name: ${name}, instructions: Say hello., schedule: '0 9 * * *' }\n`;
  writeFileSync(file, `agent: a1\njobs:\n${job('one')}${job('two')}`);
  const ran = await stateFile().run(service, ['cron', 'create', '-f', file]);
  expect(ran.code).toBe(0);
  expect(ran.stderr.match(/The list shows the new job/g)).toHaveLength(1);
});

it('provision reports it, too', async () => {
  const made: object[] = [];
  const service = await startFakeService({
    'GET /automation/spaces/': json([{ space_id: 's1', external_space_id: 'acme', name: 'Acme' }]),
    'GET /automation/spaces/{id}/agents/': json([{ agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' }]),
    'GET /automation/partner-cron-jobs/': (_, response) => sendJson(response, made),
    'POST /automation/partner-cron-jobs/': (request, response) => {
      made.push({ ...request.json<object>(), id: 'c1', name: 'DAILY' });
      sendJson(response, { id: 'c1' }, 201);
    },
  });
  const path = join(tempDirectory(), 'acme.yaml');
  const agent =
    "{ template_id: tmpl_support, name: Support, cron: [{ name: daily, instructions: x, schedule: '0 9 * * *' }] }";
  writeFileSync(path, `external_space_id: acme\nspace: { name: Acme }\nagents: [${agent}]\n`);
  const ran = await stateFile().run(service, ['provision', path]);
  expect(ran.code).toBe(0);
  expect(ran.stderr).toContain('The list shows the new job c1 as "DAILY" of agent a1');
});
