import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createArgs } from '../support/cron.ts';
import { version1Job, writeVersion1Job } from '../support/earlier-version.ts';
import { sendJson, startFakeService } from '../support/fake-service.ts';
import { run, tempDirectory } from '../support/run.ts';

const HYPHENATED = '4954764b-2e2b-4297-abec-4d8fbc9a46a7';
const SPELLINGS = [
  HYPHENATED,
  HYPHENATED.toUpperCase(),
  HYPHENATED.replaceAll('-', ''),
  HYPHENATED.replaceAll('-', '').toUpperCase(),
  `{${HYPHENATED}}`,
] as const;

interface Job {
  readonly agent_id: string;
  readonly name: string;
}

/** A service that takes an agent id in any spelling. @param listed how its list spells one; undefined if it has no list */
async function setUp(listed?: (agentId: string) => string) {
  const jobs: Job[] = [];
  const service = await startFakeService({
    'GET *': (_, response) => {
      if (!listed) {
        sendJson(response, { code: 'forbidden' }, 403);
        return;
      }
      sendJson(
        response,
        jobs.map((job, index) => ({ ...job, id: `c${index + 1}`, agent_id: listed(job.agent_id) })),
      );
    },
    'POST *': (request, response) => {
      jobs.push(request.json<Job>());
      sendJson(response, { id: `c${jobs.length}` }, 201);
    },
  });
  const env = { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'token' };
  const newState = () => {
    const path = join(tempDirectory(), 'state.jsonl');
    return { path, run: (...args: string[]) => run([...args, '--state', path], { env }) };
  };
  return { service, jobs, newState, ...newState() };
}

describe.each(SPELLINGS)('a job that was created for the agent %s', (first) => {
  it('exists for every spelling of its agent, which was sent as typed', async () => {
    const it = await setUp();
    const created = (await it.run(...createArgs(first, 'daily'))).json();
    expect(created).toMatchObject({ status: 'created', agent_id: first });
    for (const spelling of SPELLINGS) {
      const again = await it.run(...createArgs(spelling, 'daily', '--ensure'));
      expect(again.json()).toMatchObject({ status: 'exists', cron_job_id: 'c1', key: Object(created).key });
    }
    expect(it.jobs).toMatchObject([{ agent_id: first }]);
  });

  it('exists for every spelling if an earlier version recorded it, until it is forgotten', async () => {
    const it = await setUp();
    writeVersion1Job(it.path, version1Job(it.service.baseUrl, first, 'daily'), 'c1');
    for (const spelling of SPELLINGS) {
      const again = await it.run(...createArgs(spelling, 'daily', '--ensure'));
      expect(again.json()).toMatchObject({ status: 'exists', cron_job_id: 'c1' });
    }
    expect((await it.run('cron', 'forget', '--agent', HYPHENATED, '--name', 'daily', '--yes')).code).toBe(0);
    expect((await it.run(...createArgs(HYPHENATED, 'daily'))).json()).toMatchObject({ status: 'created' });
    expect(it.jobs).toHaveLength(1);
  });

  it.each([(id: string) => id.toUpperCase(), (id: string) => id.replaceAll('-', '')])(
    'is adopted on another machine, and listed as its own, if the list spells it otherwise (%#)',
    async (listed) => {
      const it = await setUp(() => listed(HYPHENATED));
      await it.run(...createArgs(first, 'daily'));
      const other = it.newState();
      const adopted = await other.run(...createArgs(HYPHENATED, 'daily', '--ensure'));
      expect(adopted.json()).toMatchObject({ status: 'adopted', cron_job_id: 'c1' });
      const rows = await other.run('cron', 'list', '--agent', first, '-o', 'json');
      expect(rows.json()).toMatchObject([{ id: 'c1', recorded: true }]);
      const local = await other.run('cron', 'list', '--local', '--agent', first, '-o', 'json');
      expect(local.json()).toMatchObject([{ cron_job_id: 'c1' }]);
      const third = it.newState();
      const byHand = await third.run('cron', 'adopt', 'c1', '--agent', first, '--name', 'daily', '--yes');
      expect(byHand.code).toBe(0);
      expect(it.jobs).toHaveLength(1);
    },
  );
});

it('ids that are no UUIDs are other agents in another case', async () => {
  const it = await setUp();
  for (const agent of ['agt_a', 'AGT_A', 'agta']) {
    expect((await it.run(...createArgs(agent, 'daily'))).json()).toMatchObject({ status: 'created' });
  }
});

it('a file that describes the job of one agent in two spellings is a mistake', async () => {
  const it = await setUp();
  const file = join(tempDirectory(), 'jobs.yaml');
  const job = (agent: string) =>
    `  - { agent: ${agent}, name: daily, instructions: Say hello., schedule: '0 9 * * *' }\n`;
  writeFileSync(file, `jobs:\n${job(HYPHENATED)}${job(HYPHENATED.toUpperCase())}`);
  const ran = await it.run('cron', 'create', '-f', file);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('is described twice');
  expect(it.jobs).toEqual([]);
});
