import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { jobService, type Made, stateFile } from '../support/job-service.ts';
import { run, tempDirectory } from '../support/run.ts';

/* How services show the agent of a job is not specified: a job whose agent cannot be read may be the wanted one. */

const SCHEDULE = { type: 'cron', data: { minute: '0', hour: '18', day_of_week: '1-5' }, timezone: 'UTC' };

/** A service that shows the agents of its jobs in this way, with a job "daily" that has other content than `createArgs`. */
async function serviceWith(agentFields: (agentId: string) => object, owner = 'agent_0005') {
  const shown = ({ agent_id, ...job }: Made) => ({ ...job, ...agentFields(agent_id) });
  const service = await jobService({ shown });
  service.made.push({ id: 1, agent_id: owner, name: 'daily', instructions: 'Sum up.', schedule: SCHEDULE });
  return service;
}

const CREATE = createArgs('agent_0005', 'daily', '--ensure');

describe('a list that shows the URL of an agent in place of its id', () => {
  const fields = (id: string) => ({ agent_id: `/v1/agents/${id}/` });

  it('shows that the job exists', async () => {
    const service = await serviceWith(fields);
    const blocked = await stateFile().run(service, CREATE);
    expect(blocked.code).toBe(5);
    expect(blocked.json()).toMatchObject({ status: 'blocked', cron_job_id: '1' });
    expect(blocked.error().message).toContain('already exists with other content');
    expect(service.posts()).toEqual([]);
  });

  it('does not keep the job of another agent from being created', async () => {
    const service = await serviceWith(fields, 'agent_0006');
    expect((await stateFile().run(service, CREATE)).json()).toMatchObject({ status: 'created' });
  });
});

it.each<[string, (id: string) => object, string]>([
  ['another name of the id', (id) => ({ assigned_agent_id: id }), 'cron_job.agent_id assigned_agent_id'],
  ['an object', (id) => ({ config: { agent_id: id } }), 'cron_job.at config'],
])(
  'A list that shows the agent of a job in %s is refused with the command that settles it',
  async (_, fields, setting) => {
    const service = await serviceWith(fields);
    const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'pat_x', HOME: tempDirectory() };
    const refused = await run(CREATE, { env });
    expect(refused).toMatchObject({ code: 8, stdout: '' });
    expect(refused.error().hint).toContain(`partnerctl contract set ${setting}`);
    expect(service.posts()).toEqual([]);
    expect((await run(['contract', 'set', ...setting.split(' ')], { env })).code).toBe(0);
    expect((await run(CREATE, { env })).json()).toMatchObject({ status: 'blocked', cron_job_id: '1' });
  },
);

describe.each<[string, object]>([
  ['the name of an agent as its agent', { agent: 'Support' }],
  ['the name of an agent', { agent_name: 'Support' }],
  ['a list of agents', { agents: [{ id: 'agent_0005' }] }],
  ['nothing of an agent', {}],
])('a list that shows %s', (_, fields) => {
  it('blocks a job of the name of an existing one, whatever its content, until its agent is known', async () => {
    const service = await serviceWith(() => fields);
    const state = stateFile();
    const blocked = await state.run(service, CREATE);
    expect(blocked.code).toBe(5);
    expect(blocked.json()).toMatchObject({ status: 'blocked', cron_job_id: null });
    const { message, hint } = blocked.error();
    expect(message).toContain('may already exist: the service has 1');
    expect(hint).toContain("contract set cron_job.agent_id '<path>'");
    expect(service.posts()).toEqual([]);
    const adopt = ['cron', 'adopt', '1', '--agent', 'agent_0006', '--name', 'daily', '--yes'];
    expect((await state.run(service, adopt)).code).toBe(0);
    expect((await state.run(service, CREATE)).json()).toMatchObject({ status: 'created' });
  });
});
