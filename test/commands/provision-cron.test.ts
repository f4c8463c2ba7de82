import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDirectory } from '../helpers/run.ts';
import { service, write } from '../helpers/service.ts';
import { type Answer, provision } from './provisioning.ts';

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

test('cron jobs asked for later make no agent a new one', async () => {
  const it = await service();
  await it.set({ agents_on_repeat: 'install' });
  const directory = tempDirectory();
  const state = ['--state', join(directory, 'state.jsonl')];
  await provision([write('a.yaml', text(''), directory), ...state], it);
  const ran = await provision([write('a.yaml', text(JOB), directory), ...state], it);
  expect(ran.json<Answer>().results[0]?.agents).toMatchObject([{ status: 'unchanged' }]);
  expect((await it.posts()).filter(({ path }) => path === PROVISION)).toHaveLength(1);
});

test('a schedule that the service cannot keep is refused before anything is sent', async () => {
  const it = await service();
  const { code, stderr } = await provision([write('acme.yaml', text(JOB.replace('@daily', '0 9 1 * *')))], it);
  expect(code).toBe(2);
  expect(stderr).toContain('must be *: the schedule of the service has only minute, hour and day_of_week');
  expect(await it.posts()).toEqual([]);
});
