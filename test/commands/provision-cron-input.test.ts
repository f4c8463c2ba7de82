import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sendJson, startFakeService } from '../helpers/fake-service.ts';
import { hasty, run, tempDirectory } from '../helpers/run.ts';
import { service, write } from '../helpers/service.ts';
import { provision } from './provisioning.ts';

const PROVISION = '/v1/automation/agent-templates/provision-space/';

const text = (cron: string): string => `external_space_id: acme
space: { name: Acme }
agents:
  - { template_id: tmpl_support, name: Support${cron} }
`;

const JOB = ', cron: [{ name: Report, instructions: Write it., schedule: "@daily" }]';

test('cron jobs are no part of what is posted to provision a space', async () => {
  const it = await service();
  await provision([write('acme.yaml', text(JOB))], it);
  const posts = (await it.posts()).filter(({ path }) => path === PROVISION);
  expect(posts).toMatchObject([{ body: { agents: [{ template_id: 'tmpl_support', name: 'Support' }] } }]);
  expect(JSON.stringify(posts)).not.toContain('cron');
});

test('cron jobs asked for later make no agent a new one, also where the service tells nothing of its agents', async () => {
  let posts = 0;
  const server = await startFakeService(({ method, path }, response) => {
    if (method === 'POST' && path.endsWith(PROVISION)) posts += 1;
    if (method === 'POST') sendJson(response, { space_id: 's1' });
    else sendJson(response, { code: 'forbidden' }, 403);
  });
  const directory = tempDirectory();
  const env = {
    PARTNER_BASE_URL: server.baseUrl,
    PARTNER_TOKEN: 'pat_x',
    PARTNER_STATE: join(directory, 'state.jsonl'),
  };
  for (const cron of ['', JOB]) {
    await run(['provision', write('a.yaml', text(cron), directory)], { env, random: hasty });
    expect(posts).toBe(1);
  }
});

test('a schedule that the service cannot keep is refused before anything is sent', async () => {
  const it = await service();
  const { code, stderr } = await provision([write('acme.yaml', text(JOB.replace('@daily', '0 9 1 * *')))], it);
  expect(code).toBe(2);
  expect(stderr).toContain('must be *: schedules of the service have only minute, hour, and day_of_week');
  expect(await it.posts()).toEqual([]);
});
