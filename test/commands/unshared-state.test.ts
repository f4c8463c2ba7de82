import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type FakeService, type Handler, sendJson, startFakeService } from '../support/fake-service.ts';
import { type Ran, type RunOptions, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';

/* A state file that only this machine has. */

const SPACE = { space_id: 'sp_1', external_space_id: 'acme', name: 'Acme' };
const AGENT = { agent_id: 'agt_1', name: 'Support', template_id: 'tmpl_1' };
const MANIFEST = `external_space_id: acme
space: { name: Acme }
agents:
  - template_id: tmpl_1
    name: Support
    cron:
      - { name: daily, instructions: Go., schedule: '0 9 * * *' }
`;
const JOBS = `agent: agt_1
jobs:
  - { name: daily, instructions: Go., schedule: '0 9 * * *' }
  - { name: weekly, instructions: Go., schedule: '0 9 * * 1' }
  - { name: hourly, instructions: Go., schedule: '0 * * * *' }
`;
const CRON = [
  'cron',
  'create',
  '--agent',
  'agt_1',
  '--name',
  'daily',
  '--instructions',
  'Go.',
  '--schedule',
  '0 9 * * *',
];

interface Job {
  readonly cron_job_id: string;
  readonly agent_id: string;
  readonly name: string;
}

async function startService(): Promise<FakeService> {
  const jobs: Job[] = [];
  const add = (name: string): Job => {
    const job = { cron_job_id: `cron_${jobs.length + 1}`, agent_id: 'agt_1', name };
    jobs.push(job);
    return job;
  };
  const post: Handler = (request, response) => {
    if (request.path.includes('provision'))
      return sendJson(response, { ...SPACE, created: true, agents: [AGENT] }, 201);
    if (request.path.includes('attachment')) return sendJson(response, { file_attachment_id: 'att_1' }, 201);
    const { name = '' } = request.json<{ name?: string }>();
    return sendJson(response, add(name), 201);
  };
  return await startFakeService({
    'POST *': post,
    'GET *': (request, response) =>
      request.path.includes('cron') ? sendJson(response, jobs) : sendJson(response, { message: 'Not allowed.' }, 403),
  });
}

function start({ baseUrl }: FakeService, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const env = { PARTNER_BASE_URL: baseUrl, PARTNER_TOKEN: 'secret-token', ...options.env };
  return run([...args, '-o', 'json'], { random: tinyRandom, ...options, env });
}

describe('in CI, without a state file,', () => {
  const warning =
    /^warning: There is no state file yet .* covers this machine alone\..*postgres:\/\/.*git\+ssh:\/\/.*cache.*help state$/gm;

  test.each([
    ['cron create', () => CRON],
    ['cron create -f', () => ['cron', 'create', '-f', write('jobs.yaml', JOBS)]],
    ['provision', () => ['provision', write('a.yaml', MANIFEST)]],
    ['upload', () => ['upload', write('a.txt', 'a'), write('b.txt', 'b')]],
  ])('%s warns once that the guard covers this machine alone', async (_, build) => {
    const service = await startService();
    const state = join(tempDirectory(), 'state.jsonl');
    const args = [...build(), '--state', state];
    const env = { CI: 'true' };
    expect((await start(service, [...args, '--dry-run'], { env })).stderr).not.toMatch(warning);
    const first = await start(service, args, { env });
    expect(first.stderr.match(warning)).toHaveLength(1);
    expect((await start(service, args, { env })).stderr).not.toMatch(warning);
  });

  test('no command warns outside CI, without jobs, or with a shared state', async () => {
    const service = await startService();
    const file = write('a.txt', 'a');
    const manifest = write('a.yaml', MANIFEST.slice(0, MANIFEST.indexOf('    cron')));
    const git = `git+file://${join(tempDirectory(), 'none.git')}#state`;
    const env = { CI: 'true', PATH: process.env.PATH };
    for (const ran of [
      await start(service, ['upload', file]),
      await start(service, ['provision', manifest], { env }),
      await start(service, ['upload', file, '--state', git], { env }),
    ]) {
      expect(ran.stderr).not.toContain('this machine alone');
    }
  });
});
