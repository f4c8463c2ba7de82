import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Contract } from '../../../src/contract/contract.ts';
import { readCreatedCronJob, readCronJob } from '../../../src/contract/cron.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import { UnknownShape } from '../../../src/contract/unknown-shape.ts';

const readJob = (item: JsonObject) => readCronJob(item, new Contract());
const readCreated = (body: unknown) => readCreatedCronJob(body, new Contract());

const DATA = { minute: '0', hour: '9', day_of_week: '1-5' };
const SCHEDULE = { ...DATA, timezone: 'Europe/Berlin' };
const WIRE = { type: 'cron', data: DATA, timezone: 'Europe/Berlin' };
const JOB = { cron_job_id: 'c1', agent_id: 'a1', name: 'Digest', instructions: 'Sum up.', schedule: WIRE };
const { name: _name, ...AROUND } = JOB;
const READ = {
  cron_job_id: 'c1',
  agent_id: 'a1',
  agent_text: undefined,
  name: 'Digest',
  instructions: 'Sum up.',
  schedule: SCHEDULE,
};

it('reads a job whose fields are objects with a key toString', () => {
  const odd = JSON.parse('{"toString": 1}');
  expect(readJob({ ...JOB, schedule: { ...SCHEDULE, day: odd } })).toEqual({ ...READ, schedule: undefined });
});

describe('a listed job', () => {
  it.each<[string, JsonObject]>([
    ['as it was sent', JOB],
    ['with a plain id', { ...JOB, cron_job_id: undefined, id: 'c1' }],
    ['under cron_job', { cron_job: JOB }],
    ['under partner_cron_job, next to the id of the envelope', { id: 'entry-7', partner_cron_job: JOB }],
    ['with some of its fields around it', { name: 'Digest', cron_job: AROUND }],
    ['with its agent as an object', { ...JOB, agent_id: undefined, agent: { agent_id: 'a1', name: 'Support' } }],
    ['with its agent as an object with a plain id', { ...JOB, agent_id: null, agent: { id: 'a1' } }],
    ['with fields and timezone in the schedule', { ...JOB, schedule: SCHEDULE }],
    ['with the timezone among the data', { ...JOB, schedule: { type: 'cron', data: SCHEDULE } }],
    ['with the timezone next to the schedule', { ...JOB, schedule: DATA, timezone: 'Europe/Berlin' }],
    ['with a text', { ...JOB, schedule: ' 0 9 * * 1-5 ', timezone: 'Europe/Berlin' }],
    ['with a text with question marks', { ...JOB, schedule: '0 9 ? ? 1-5', timezone: 'Europe/Berlin' }],
    ['with a text as data', { ...JOB, schedule: { ...WIRE, data: '0 9 * * 1-5' } }],
    ['with a text in the schedule', { ...JOB, schedule: { expression: '0 9 * * 1-5', timezone: 'Europe/Berlin' } }],
    ['with a text on the job itself', { ...JOB, schedule: null, cron: '0 9 * * 1-5', timezone: 'Europe/Berlin' }],
    [
      'with a prefixed text',
      { ...JOB, schedule: undefined, cron_schedule: '0 9 * * 1-5', cron_timezone: 'Europe/Berlin' },
    ],
    ['with numbers', { ...JOB, schedule: { ...WIRE, data: { minute: 0, hour: 9, day_of_week: '1-5' } } }],
    [
      'with other fields that limit nothing',
      { ...JOB, schedule: { ...WIRE, data: { ...DATA, month: '*', day: null } } },
    ],
  ])('is read %s', (_, item) => {
    expect(readJob(item)).toEqual(READ);
  });

  it.each<[string, unknown, unknown?]>([
    ['none', undefined],
    ['another type', { ...WIRE, type: 'interval' }],
    ['an interval', { type: 'interval', data: { seconds: 60 }, timezone: 'UTC' }],
    ['a missing day', { ...WIRE, data: { minute: '0', hour: '9' } }],
    ['an empty field', { ...WIRE, data: { ...DATA, hour: '' } }],
    ['a fraction', { ...WIRE, data: { ...DATA, minute: 0.5 } }],
    ['an object as a field', { ...WIRE, data: { ...DATA, day_of_week: { from: 1, to: 5 } } }],
    ['a list as a field', { ...WIRE, data: { ...DATA, day_of_week: [1, 5] } }],
    ['a limited day of the month', { ...WIRE, data: { ...DATA, day_of_month: '1' } }],
    ['a limited month', { ...WIRE, data: { ...DATA, month: 6 } }],
    ['a text with a day of the month', '0 9 1 * *', 'UTC'],
    ['a text with a month', '0 9 * 6 *', 'UTC'],
    ['a text with seconds', '0 0 9 * * 1-5', 'UTC'],
    ['a text with four fields', '0 9 * *', 'UTC'],
    ['a nickname', '@daily', 'UTC'],
    ['a number', 5, 'UTC'],
    ['a list', [DATA], 'UTC'],
  ])('has no schedule if it is uncertain: %s', (_, schedule, timezone) => {
    expect(readJob({ ...JOB, schedule, timezone })).toEqual({ ...READ, schedule: undefined });
  });

  it.each<[string, unknown]>([
    ['no timezone', { type: 'cron', data: DATA }],
    ['an empty timezone', { ...WIRE, timezone: ' ' }],
    ['a timezone that is no text', { ...WIRE, timezone: 2 }],
    ['a text without a timezone', '0 9 * * 1-5'],
  ])('has the fields of its schedule without the timezone: %s', (_, schedule) => {
    expect(readJob({ ...JOB, schedule })).toEqual({ ...READ, schedule: { ...DATA, timezone: undefined } });
  });

  it('has its agent from an ARN of AWS, too', () => {
    expect(readJob({ ...JOB, agent_id: undefined, agentArn: 'a1' }).agent_id).toBe('a1');
  });

  it('does not use a name as an id, or a non-string as text', () => {
    expect(readJob({ id: 7, agent: 'Support', name: null, instructions: null })).toEqual({
      cron_job_id: '7',
      agent_id: undefined,
      agent_text: 'Support',
      name: null,
      instructions: undefined,
      schedule: undefined,
    });
  });

  it.each<[string, JsonObject, string, string]>([
    ['a name that is no text', { ...AROUND, name: { en: 'x' } }, 'cron_job.name', 'name.en'],
    ['a name under an unknown key', { ...AROUND, jobCaption: 'x' }, 'cron_job.name', 'jobCaption'],
    ['an agent under an unknown key', { ...JOB, agent_id: undefined, botId: 'a1' }, 'cron_job.agent_id', 'botId'],
  ])('is rejected with %s, because it may be any job', (_, item, leaf, value) => {
    const refusal = () => readJob(item);
    expect(refusal).toThrow(UnknownShape);
    expect(refusal).toThrow(expect.objectContaining({ fix: { leaf, value } }));
  });

  it('is read with a cron expression and an agent that has an id', () => {
    const item = { id: 'c1', agent: { id: 'a1' }, name: 'Digest', prompt: 'Sum up.' };
    expect(readJob({ ...item, cronExpression: '0 9 * * 1-5', timeZone: 'Europe/Berlin' })).toEqual(READ);
  });

  it('without an id is an unknown shape', () => {
    expect(() => readJob({ ...JOB, cron_job_id: undefined })).toThrow(UnknownShape);
  });

  it('property: any object is decoded or rejected as an unknown shape', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...Object.keys(JOB), 'cron_job', 'timezone'), fc.jsonValue()),
        (item) => {
          try {
            const { schedule } = readJob({ ...item });
            if (schedule) expect(Object.values(schedule).every((field) => field !== '')).toBe(true);
          } catch (error) {
            expect(error).toBeInstanceOf(UnknownShape);
          }
        },
      ),
    );
  });
});

describe('a created job', () => {
  it.each<[string, unknown]>([
    ['at the top', { cron_job_id: 'c1', agent_id: 'a1' }],
    ['as a plain id', { id: 'c1' }],
    ['under data', { data: { id: 'c1' } }],
    ['under result', { result: { cron_job_id: 'c1' } }],
    ['under its own name before a plain one further in', { cron_job_id: 'c1', data: { id: 'x' } }],
    ['as a list of one', [{ id: 'c1' }]],
    ['next to an empty one', { cron_job_id: null, data: { id: 'c1' } }],
    ['next to an empty error', { success: true, error: null, errors: [], data: { id: 'c1' } }],
  ])('has its id %s', (_, body) => {
    expect(readCreated(body)).toBe('c1');
  });

  it('is rejected next to another id, because either may be that of the job', () => {
    expect(() => readCreated({ id: 'request-9', data: { id: 'c1' } })).toThrow('two different ids');
  });

  it('does not take the id of the operation that creates it', () => {
    const operation = { id: 'op_77', object: 'operation', status: 'running', kind: 'cron_job.create' };
    expect(() => readCreated(operation)).toThrow(
      expect.objectContaining({ fix: expect.objectContaining({ leaf: 'cron_job.id' }) }),
    );
    expect(() => readCreated({ operation: { id: 'op_77', state: 'RUNNING' } })).toThrow();
    expect(readCreated({ ...operation, cron_job_id: 'c1' })).toBe('c1');
  });

  it.each([
    [null],
    ['c1'],
    [[]],
    [[{ id: 'c1' }, { id: 'c2' }]],
    [{}],
    [{ ok: true }],
    [{ agent_id: 'a1' }],
    [{ data: { name: 'x' } }],
    [{ error: 'no such agent', id: 'err_17' }],
    [{ errors: [{ code: 'x' }], data: { id: 'r1' } }],
    [{ success: false, cron_job_id: 'c1' }],
  ])('is rejected as an unknown shape without an id, or with a failure: %j', (body) => {
    expect(() => readCreated(body)).toThrow(UnknownShape);
  });
});
