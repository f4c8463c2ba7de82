import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { json, startFakeService } from '../support/fake-service.ts';
import { jobService, stateFile } from '../support/job-service.ts';
import { tempDirectory } from '../support/run.ts';

/* How services show the schedule of a job is not specified: it must not pass for the wanted one unless it was compared. */

const DATA = { minute: '0', hour: '18', day_of_week: '1-5' };
const WIRE = { type: 'cron', data: DATA, timezone: 'Europe/Berlin' };
const JOB = { agent_id: 'a1', name: 'daily', instructions: 'Sum up.' };

const create = (hour: string) => [
  ...['cron', 'create', '--agent', 'a1', '--name', 'daily', '--instructions', 'Sum up.', '--ensure', '-o', 'json'],
  ...['--schedule', `0 ${hour} * * 1-5`, '--timezone', 'Europe/Berlin'],
];

/** A service with a job that runs at 18:00, shown with these fields in place of its schedule. */
async function serviceWith(fields: object) {
  const service = await jobService({
    shown: ({ id, agent_id, name, instructions }) => ({ id, agent_id, name, instructions, ...fields }),
  });
  service.made.push({ id: 1, ...JOB, schedule: WIRE });
  return service;
}

const WITHOUT_ZONE: readonly [string, object, string][] = [
  ['a text without a time zone', { schedule: '0 18 * * 1-5' }, 'shows no time zone'],
  ['fields without a time zone', { schedule: { type: 'cron', data: DATA } }, 'contract set cron_job.timezone'],
  ['a name that is no time zone', { schedule: '0 18 * * 1-5', time_zone: 'Berlin' }, '"Berlin"'],
  ['an offset', { schedule: { ...WIRE, timezone: '+01:00' } }, '"+01:00"'],
];

const COMPARABLE: readonly [string, object][] = [
  ['a prefixed text', { cron_schedule: '0 18 * * 1-5', cron_timezone: 'Europe/Berlin' }],
];

const UNKNOWN = 'shows no schedule that can be read';

const UNREADABLE: readonly [string, object, string][] = [
  [
    'a Quartz expression',
    { schedule: { type: 'cron', expression: '0 0 18 ? * 2-6 *', timezone: 'Europe/Berlin' } },
    UNKNOWN,
  ],
  [
    'a recurrence rule',
    { schedule: { type: 'rrule', rrule: 'FREQ=DAILY;BYHOUR=18', timezone: 'Europe/Berlin' } },
    UNKNOWN,
  ],
  ['a list of days', { schedule: { ...WIRE, data: { ...DATA, day_of_week: ['mon', 'fri'] } } }, UNKNOWN],
  ['a text of JSON', { schedule: JSON.stringify(WIRE) }, UNKNOWN],
  ['an id', { schedule_id: 'sch_1' }, UNKNOWN],
  ['nothing', {}, 'contract set cron_job.schedule'],
];

const withFields: readonly [string, object][] = WITHOUT_ZONE.map(([shows, fields]) => [shows, fields]);

describe.each([...withFields, ...COMPARABLE])('a job at 18:00 whose list shows %s', (_, fields) => {
  it('blocks one at 19:00, also once the state knows it', async () => {
    const service = await serviceWith(fields);
    const { run } = stateFile();
    for (const attempt of [1, 2]) {
      const blocked = await run(service, create('19'));
      expect({ attempt, code: blocked.code }).toEqual({ attempt, code: 5 });
      expect(blocked.json()).toMatchObject({ status: 'blocked', cron_job_id: '1' });
      expect(blocked.error().message).toContain('already exists with other content: 1');
      expect(JSON.stringify(blocked.json())).toContain('{"field":"hour","before":"18","after":"19"}');
    }
    expect(service.posts()).toEqual([]);
  });
});

describe.each(COMPARABLE)('a job at 18:00 whose list shows %s', (_, fields) => {
  it('is adopted as the same', async () => {
    const adopted = await stateFile().run(await serviceWith(fields), create('18'));
    expect(adopted).toMatchObject({ code: 0, stderr: '' });
    expect(adopted.json()).toMatchObject({ status: 'adopted', schedule: WIRE });
  });
});

describe.each([...WITHOUT_ZONE, ...UNREADABLE])('a job whose list shows %s', (_, fields, why) => {
  it('is adopted, and exists later, without a schedule, and a warning says why', async () => {
    const service = await serviceWith(fields);
    const { run } = stateFile();
    for (const status of ['adopted', 'exists']) {
      const ran = await run(service, create('18'));
      expect(ran.code).toBe(0);
      expect(ran.json()).toMatchObject({ status, cron_job_id: '1', schedule: null, in_words: null, next_runs: [] });
      expect(ran.stderr).toContain('Its schedule could not be compared: ');
      expect(ran.stderr).toContain(why);
    }
    const plain = create('18').filter((arg) => arg !== '--ensure');
    const blocked = await run(service, plain);
    expect(blocked.json()).toMatchObject({ status: 'blocked', schedule: null });
    expect(blocked.stderr).not.toContain('with the same content');
  });
});

it('the table does not show the wanted schedule of a job that could not be compared', async () => {
  const table = [...create('19').filter((arg) => arg !== 'json' && arg !== '-o'), '-o', 'table'];
  const ran = await stateFile().run(await serviceWith({}), table);
  expect(ran.code).toBe(0);
  expect(ran.stdout).toMatch(/SCHEDULE: +not compared/);
  expect(ran.stdout).not.toContain('19:00');
});

it('provision and plan show the difference, or warn that the schedule could not be compared', async () => {
  const path = join(tempDirectory(), 'acme.yaml');
  const job = "{ name: daily, instructions: Sum up., schedule: '0 19 * * 1-5', timezone: Europe/Berlin }";
  const agent = `{ template_id: tmpl_support, name: Support, cron: [${job}] }`;
  writeFileSync(path, `external_space_id: acme\nspace: { name: Acme }\nagents: [${agent}]\n`);
  const listed = { cron_job_id: 'c1', agent_id: 'a1', name: 'daily', instructions: 'Sum up.' };
  const withJob = (fields: object) =>
    startFakeService({
      'GET /automation/spaces/': json([{ space_id: 's1', external_space_id: 'acme', name: 'Acme' }]),
      'GET /automation/spaces/{id}/agents/': json([{ agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' }]),
      'GET /automation/partner-cron-jobs/': json([{ ...listed, ...fields }]),
    });
  const differing = await withJob({ schedule: '0 18 * * 1-5' });
  const planned = await stateFile().run(differing, ['plan', path, '-o', 'json']);
  const difference = { resource: 'job', name: 'daily', field: 'hour', service: '18', manifest: '19' };
  expect(planned.json()).toMatchObject({ spaces: [{ differences: [difference] }] });
  expect((await stateFile().run(differing, ['provision', path])).code).toBe(5);
  const unreadable = await withJob({});
  for (const command of ['plan', 'provision']) {
    const ran = await stateFile().run(unreadable, [command, path, '-o', 'json']);
    expect({ command, code: ran.code }).toEqual({ command, code: 0 });
    expect(ran.stderr).toContain('Its schedule could not be compared: ');
  }
});
