import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createArgs, jobService, type Made, startCronBehindGateway } from '../support/cron.ts';
import { write } from '../support/service.ts';
import { stateFile } from '../support/state-file.ts';

/* A job whose name was edited is not a new one: the API removes nothing, so that both would run for ever. */

type Job = readonly [name: string, instructions: string, hour?: string];

const fileOf = (agent: string, ...jobs: readonly Job[]) =>
  write(
    'jobs.yaml',
    jobs
      .map(
        ([name, text, hour = '9']) =>
          `- { agent: ${agent}, name: ${name}, instructions: ${text}, schedule: '0 ${hour} * * *' }\n`,
      )
      .join(''),
  );

describe('A job of a file', () => {
  it.each<[string, Job, boolean]>([
    ['with another name', ['dawn', 'Sum up.'], true],
    ['with another name and another schedule', ['dawn', 'Sum up.', '10'], true],
    ['with its name in another case', ['Morning', 'Other.'], true],
    ['with spaces in its name', ['Mor ning', 'Other.'], true],
    ['with another name and other instructions', ['evening', 'Other.'], false],
  ])(
    '%s is the one that exists, unless the file names that one, too, or --create-beside is given',
    async (_, edited, isBlocked) => {
      for (const isLost of [false, true]) {
        const { cron, path, run } = await startCronBehindGateway();
        const create = (jobs: readonly Job[], ...more: string[]) =>
          run(['cron', 'create', '-f', fileOf(cron.agent_id, ...jobs), '--ensure', '-o', 'json', ...more]);
        const before: Job = ['morning', 'Sum up.'];
        const [{ cron_job_id: id }] = (await create([before])).json<[{ cron_job_id: string }]>();
        if (isLost) rmSync(path);
        for (const more of [['--dry-run'], []]) {
          const ran = await create([edited], ...more);
          expect(ran.code).toBe(isBlocked ? 5 : 0);
          if (!isBlocked) continue;
          expect(ran.json()).toMatchObject([
            { status: 'blocked', error: { details: { reason: 'edited', candidates: [id] } } },
          ]);
          const { message, hint } = ran.error();
          for (const text of ['"morning"', 'cannot rename', '--create-beside'])
            expect(`${message} ${hint}`).toContain(text);
        }
        if (!isBlocked) return;
        expect(await cron.posted()).toBe(1);
        const both = await create([before, edited]);
        expect(both.json<{ status: string }[]>().map(({ status }) => status)).toEqual([
          isLost ? 'adopted' : 'exists',
          'created',
        ]);
        const beside = await create([['third', 'Sum up.']], '--create-beside');
        expect(beside.json()).toMatchObject([{ status: 'created' }]);
      }
    },
  );

  it('does not stop the others of its file (10)', async () => {
    const { cron, run } = await startCronBehindGateway();
    const create = (...jobs: readonly Job[]) =>
      run(['cron', 'create', '-f', fileOf(cron.agent_id, ...jobs), '-o', 'json']);
    await create(['morning', 'Sum up.']);
    const ran = await create(['Morning', 'Sum up.'], ['evening', 'Other.']);
    expect(ran.code).toBe(10);
    expect(ran.json()).toMatchObject([{ status: 'blocked' }, { status: 'created' }]);
  });
});

it('A job of flags is another one with its instructions and schedule, or with its name but for case and spaces', async () => {
  const { cron, run } = await startCronBehindGateway();
  expect((await run(cron.create('daily'))).code).toBe(0);
  const text = ['--instructions', 'Sum up the day.'];
  const withText = (name: string, ...more: string[]) =>
    run(['cron', 'create', '--agent', cron.agent_id, '--name', name, ...text, '-o', 'json', ...more]);
  expect((await withText('nightly', '--schedule', '0 9 * * mon-fri')).code).toBe(5);
  expect((await run(cron.create('Daily'))).code).toBe(5);
  expect((await withText('nightly', '--schedule', '0 22 * * *')).code).toBe(0);
  expect((await run(cron.create('Daily', '--create-beside'))).code).toBe(0);
  expect(await cron.posted()).toBe(3);
});

it.each<[string, (job: Made) => object]>([
  ['its instructions', ({ instructions: _, ...job }) => job],
  ['its agent', ({ agent_id: _, ...job }) => job],
])('A job of which the list does not show %s is known by its record', async (_, shown) => {
  const { run } = stateFile();
  const service = await jobService({ shown });
  expect((await run(service, createArgs('a1', 'daily'))).code).toBe(0);
  const renamed = createArgs('a1', 'daily').map((arg) => (arg === 'daily' ? 'nightly' : arg));
  expect((await run(service, renamed)).code).toBe(5);
  expect(
    (
      await run(
        service,
        renamed.map((arg) => (arg === 'a1' ? 'a2' : arg)),
      )
    ).code,
  ).toBe(0);
  expect(service.made).toHaveLength(2);
});
