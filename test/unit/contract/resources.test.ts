import { describe, expect, it } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import { readAgent, readCronJob } from '../../../src/contract/resources.ts';

const readJob = (item: JsonObject) => readCronJob(item, new Contract());

const DATA = { minute: '0', hour: '9', day_of_week: '1-5' };
const timezone = 'Europe/Berlin';
const SCHEDULE = { ...DATA, timezone };
const WIRE = { type: 'cron', data: DATA, timezone };
const JOB = { cron_job_id: 'c1', agent_id: 'a1', name: 'Digest', instructions: 'Sum up.', schedule: WIRE };
const { name: _name, ...AROUND } = JOB;
const READ = { ...JOB, agent_text: undefined, schedule: SCHEDULE };

describe('a listed job', () => {
  it.each<[string, JsonObject]>([
    ['as it was sent', JOB],
    ['under partner_cron_job, next to the id of the envelope', { id: 'entry-7', partner_cron_job: JOB }],
    ['with its agent as an object', { ...JOB, agent_id: null, agent: { id: 'a1', name: 'Support' } }],
    ['with a text', { ...JOB, schedule: ' 0 9 ? * 1-5 ', timezone }],
  ])('is read %s', (_, item) => {
    expect(readJob(item)).toEqual(READ);
  });

  it.each<[string, unknown]>([
    ['another type', { ...WIRE, type: 'interval' }],
    ['a missing day', { ...WIRE, data: { minute: '0', hour: '9' } }],
    ['a limited month', { ...WIRE, data: { ...DATA, month: 6 } }],
  ])('has no schedule if it is uncertain: %s', (_, schedule) => {
    expect(readJob({ ...JOB, schedule, timezone: 'UTC' })).toEqual({ ...READ, schedule: undefined });
  });

  it('does not use a name as an id, or a non-string as text', () => {
    const read = readJob({ id: 7, agent: 'Support', name: null, instructions: null });
    expect(read).toMatchObject({ cron_job_id: '7', agent_id: undefined, agent_text: 'Support', name: null });
    expect(read.instructions).toBeUndefined();
  });

  it.each<[JsonObject, string, string]>([
    [{ ...AROUND, jobCaption: 'x' }, 'cron_job.name', 'jobCaption'],
    [{ ...JOB, agent_id: undefined, botId: 'a1' }, 'cron_job.agent_id', 'botId'],
    [{ ...JOB, cron_job_id: undefined }, 'cron_job.id', '<path>'],
  ])('is rejected if it may be any job: %j', (item, leaf, value) => {
    expect(() => readJob(item)).toThrow(expect.objectContaining({ fix: { leaf, value } }));
  });
});

const readListed = (agent: object) => readAgent({ agent_id: 'a', ...agent }, new Contract());

it('the source of a listed agent is in its integration metadata, and refused if that shows two.', () => {
  expect(readListed({ integrations: { api_chat: { source_id: 's' } } }).source_id).toBe('s');
  expect(readListed({ integrations: { api_chat: null } }).source_id).toBeNull();
  expect(readListed({}).source_id).toBeUndefined();
  const two = { source_id: 's', integrations: { api_chat: { source_id: 't' } } };
  const fix = { leaf: 'agent.source_id', value: 'source_id', other: 'integrations.api_chat.source_id' };
  expect(() => readListed(two)).toThrow(expect.objectContaining({ fix }));
});
