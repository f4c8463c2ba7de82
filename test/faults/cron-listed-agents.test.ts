import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { jobService, type Made, stateFile } from '../support/job-service.ts';

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

const MENTIONS: readonly [string, (agentId: string) => object][] = [
  ['another name of the id', (id) => ({ assigned_agent_id: id })],
  ['a list of ids', (id) => ({ agent_ids: [id] })],
  ['a target', (id) => ({ target: { type: 'agent', id } })],
  ['a reference under an unknown name', (id) => ({ runs: { kind: 'worker', ref: id } })],
  ['a URL', (id) => ({ agent: `https://api.test/v1/automation/spaces/s1/agents/${id}/` })],
  ['a URL in place of the id', (id) => ({ agent_id: `/v1/agents/${id}/` })],
  ['a list of agents', (id) => ({ agents: [{ id, name: 'Support' }] })],
];

describe.each(MENTIONS)('a list that shows the agent of a job as %s', (_, fields) => {
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
    const created = await stateFile().run(service, CREATE);
    const isElsewhere = JSON.stringify(fields('x')).includes('"ref"');
    expect(created.json()).toMatchObject({ status: isElsewhere ? 'blocked' : 'created' });
  });
});

describe.each<[string, object]>([
  ['the name of an agent as its agent', { agent: 'Support' }],
  ['the name of an agent', { agent_name: 'Support' }],
  ['an internal number under another name', { assigned_agent_id: 41 }],
  ['nothing of an agent', {}],
])('a list that shows %s', (_, fields) => {
  it('blocks a job of the name of an existing one, whatever its content, until its agent is known', async () => {
    const service = await serviceWith(() => fields);
    const { run } = stateFile();
    const blocked = await run(service, CREATE);
    expect(blocked.code).toBe(5);
    expect(blocked.json()).toMatchObject({ status: 'blocked', cron_job_id: null });
    const { message, hint } = blocked.error();
    expect(message).toContain('may already exist: the service has 1');
    expect(hint).toContain("contract set cron_job.agent_id '<path>'");
    expect(service.posts()).toEqual([]);
    const adopt = ['cron', 'adopt', '1', '--agent', 'agent_0006', '--name', 'daily', '--yes'];
    expect((await run(service, adopt)).code).toBe(0);
    expect((await run(service, CREATE)).json()).toMatchObject({ status: 'created' });
  });
});

it('a short id in an unrelated field is no agent', async () => {
  const service = await serviceWith(() => ({ retries: 5, id: 5 }));
  const blocked = await stateFile().run(service, createArgs('5', 'daily'));
  expect(blocked.json()).toMatchObject({ status: 'blocked', cron_job_id: null });
});

it('cron adopt records a job that mentions another agent for the one that the user names', async () => {
  const service = await serviceWith((id) => ({ assigned_agent_id: id }));
  const adopt = ['cron', 'adopt', '1', '--agent', 'agent_0006', '--name', 'daily', '--yes'];
  expect((await stateFile().run(service, adopt)).code).toBe(0);
});
