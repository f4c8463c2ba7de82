import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { json, sendJson, startFakeService } from '../support/fake-service.ts';
import { fasterClock, run, tinyRandom } from '../support/run.ts';
import { manifest, type Service, service, write } from '../support/service.ts';

/** The variables that a runner of GitHub Actions sets. The repository is the directory of the file. */
function actions(path: string, more: Record<string, string> = {}): Record<string, string> {
  const directory = dirname(path);
  return {
    CI: 'true',
    GITHUB_ACTIONS: 'true',
    GITHUB_WORKSPACE: directory,
    GITHUB_STEP_SUMMARY: join(directory, 'step-summary'),
    PARTNER_STATE: write('state.jsonl', ''),
    ...more,
  };
}

function runIn(it: Pick<Service, 'env'>, argv: readonly string[], env: Record<string, string>) {
  return run(argv, { random: tinyRandom, clock: fasterClock(), env: { ...it.env, ...env } });
}

const annotations = (stderr: string) => stderr.split('\n').filter((line) => line.startsWith('::'));
const read = (path: string) => readFileSync(path, 'utf8');

const JOB = "{ name: daily, instructions: Sum up SECRET-PLAN., schedule: '0 9 * * *' }";
const withJob = (id: string) => manifest(id).replace('"Support" }', `"Support", cron: [${JOB}] }`);

describe('annotations in GitHub Actions', () => {
  test('show each mistake in the input at its line and column, with a path relative to the repository', async () => {
    const it = await service();
    const path = write('acme.yaml', `${manifest('acme')}colour: red\n`);
    const ran = await runIn(it, ['provision', path], actions(path));
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(annotations(ran.stderr)).toEqual([
      '::error file=acme.yaml,line=5,col=1,title=partnerctl provision::unknown key "colour"%0Ahint: valid keys: external_space_id, space, agents, ignore',
    ]);
    expect(ran.stderr).toContain('error: Invalid input; nothing was sent.');
    expect(await it.received()).toEqual([]);
    // They do not mix with the error object.
    const scripted = await runIn(it, ['plan', path, '-o', 'json'], actions(path));
    expect(Object(JSON.parse(scripted.stderr)).error.details.problems[0]).toMatchObject({ line: 5 });
  });
});

test('text of a service never becomes a workflow command, in the output of any command', async () => {
  const name = '::add-mask::Support';
  const fake = await startFakeService({
    'GET /automation/spaces/': json([{ space_id: '::debug::1', external_space_id: 'x ##[error]x', name }]),
    'POST *': json({ code: 'no', message: '::stop-commands::x\n::error::y' }, 422),
  });
  const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: 'pt_1234567890', GITHUB_ACTIONS: 'true' };
  const listed = (...more: string[]) => run(['spaces', 'list', ...more], { env });
  expect((await listed()).stdout).toContain('\\x3a:add-mask::Support');
  for (const format of ['table', 'json']) {
    expect((await listed('-o', format)).stdout).not.toMatch(/^\s*::|##\[/m);
  }
  expect((await listed('-o', 'json')).json()).toEqual([
    expect.objectContaining({ name, external_space_id: 'x ##[error]x' }),
  ]);
  const refused = await run(['chat', 'send', 'hi', '--source', 's', '--session', 'x', '-v'], { env });
  expect(refused.stderr).toContain('stop-commands');
  expect(refused.stderr.replace(/^::error title=partnerctl chat send::.*$/m, '')).not.toMatch(/^\s*::/m);
});

describe('the summary', () => {
  test('appends the plan, then the results, to the summary of the step', async () => {
    const it = await service();
    const path = write('acme.yaml', `${withJob('acme')}---\n${manifest('beta')}`);
    const env = actions(path);
    expect((await runIn(it, ['plan', path], env)).code).toBe(0);
    expect((await runIn(it, ['provision', path], env)).code).toBe(0);
    const text = read(env.GITHUB_STEP_SUMMARY ?? '');
    expect(text).toMatch(/^### partnerctl plan\n\n {4}Plan: 2 spaces, 2 agents, 1 job to create\.\n/);
    expect(text).toMatch(/### partnerctl provision\n\n {4}Done: 2 spaces, 2 agents, 1 job created\.\n/);
    expect(text).toMatch(/^<details><summary><code>acme {2}.*acme\.yaml:1, created<\/code><\/summary>\n\n +\+ space/m);
    expect(text).not.toContain('SECRET-PLAN');
  });

  test('marks failures, and shows neither the token nor instructions', async () => {
    const token = 'pt_1234567890abcdef';
    const fake = await startFakeService({
      'GET *': json([]),
      'POST *': (request, response, count) => {
        const body = Object(request.json());
        const echo = { code: 'no', message: `refused: ${token} Sum up SECRET-PLAN.` };
        if (request.path.includes('cron')) return sendJson(response, echo, 422);
        const agents = body.agents.map((agent: object) => ({ ...agent, agent_id: `agt_${count}` }));
        sendJson(response, { space_id: `sp_${count}`, external_space_id: body.external_space_id, agents }, 201);
      },
    });
    const path = write('all.yaml', `${manifest('good')}---\n${withJob('bad')}`);
    const summary = join(dirname(path), 'summary.md');
    const env = { PARTNER_BASE_URL: fake.baseUrl, PARTNER_TOKEN: token };
    const ran = await runIn({ env }, ['provision', path, '--summary-file', summary], actions(path));
    expect(ran.code).toBe(10);
    const text = read(summary);
    expect(text).toMatch(/<code>good[\s\S]*<code>❌ bad/);
    expect(annotations(ran.stderr)).toEqual([expect.stringContaining('file=all.yaml,line=9,')]);
    for (const report of [text, ...annotations(ran.stderr)]) {
      expect(report).toContain('daily');
      expect(report).not.toContain(token);
    }
    // An annotation is seen by those who see the log; a summary may be posted elsewhere.
    expect(text).not.toContain('SECRET-PLAN');
    expect(annotations(ran.stderr)[0]).toContain('%0Arefused: ');
    expect(existsSync(actions(path).GITHUB_STEP_SUMMARY ?? '')).toBe(false);
  });

  test('replaces an earlier summary in the file that it names, covers uploads, too, and warns if its file cannot be written', async () => {
    const it = await service();
    const summary = write('summary.md', 'earlier');
    const file = write('a <b>.txt', 'a');
    expect((await runIn(it, ['upload', file, '--summary-file', summary], {})).code).toBe(0);
    expect(read(summary)).toMatch(/^### partnerctl upload\n\n {4}1 uploaded\.\n/);
    expect(read(summary)).toContain('a <b>.txt  uploaded, ');
    const ran = await runIn(it, ['upload', file, '--summary-file', '/nonexistent/s.md'], {});
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('/nonexistent/s.md cannot be written') });
  });
});
