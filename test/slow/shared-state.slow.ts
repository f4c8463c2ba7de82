import { execFileSync } from 'node:child_process';
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type FakeService,
  type Handler,
  json,
  type Script,
  sendJson,
  startFakeService,
} from '../support/fake-service.ts';
import {
  fasterClock,
  manualSignals,
  type Ran,
  type RunOptions,
  run,
  tempDirectory,
  tinyRandom,
} from '../support/run.ts';
import { write } from '../support/service.ts';
import { readState } from '../support/state-file.ts';

/** A state on a branch of a repository that can be moved away: then it is unreachable. */
interface Shared {
  readonly address: string;
  /** The home of one machine. */
  readonly home: string;
  away(): void;
  back(): void;
  /** Removes all records from the branch. @returns its tip before */
  rewrite(): string;
  /** Runs git in the repository, as its server does. */
  git(...args: readonly string[]): string;
  /** The types of the records on the branch. */
  records(): Promise<readonly string[]>;
  /** The recovery files of the machine. */
  waiting(): readonly string[];
  run(service: FakeService, args: readonly string[], options?: RunOptions): Promise<Ran>;
}

async function shared(): Promise<Shared> {
  const path = join(tempDirectory(), 'state.git');
  execFileSync('git', ['init', '--quiet', '--bare', path]);
  const home = tempDirectory();
  expect(
    await run(['state', 'init', `git+file://${path}#state`], { env: { HOME: home, PATH: process.env.PATH } }),
  ).toMatchObject({ code: 0 });
  const address = `git+file://${path}#state`;
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', path, ...args], { encoding: 'utf8' }).trim();
  const empty = git('rev-parse', 'state');
  return {
    git,
    rewrite() {
      const tip = git('rev-parse', 'state');
      git('update-ref', 'refs/heads/state', empty);
      return tip;
    },
    address,
    home,
    away: () => renameSync(path, `${path}.away`),
    back: () => renameSync(`${path}.away`, path),
    records: async () => {
      const { records } = await readState(address, { PATH: process.env.PATH });
      return records.map(({ type }) => type);
    },
    waiting: () => {
      const directory = join(home, '.local', 'state', 'partnerctl');
      return readdirSync(directory).filter((name) => name.includes('.recovery-'));
    },
    run: (service, args, options = {}) =>
      run([...args, '--state', address, '-o', 'json'], {
        random: tinyRandom,
        clock: fasterClock(100),
        ...options,
        env: {
          HOME: home,
          PATH: process.env.PATH,
          PARTNER_BASE_URL: service.baseUrl,
          PARTNER_TOKEN: 'secret-token',
          ...options.env,
        },
      }),
  };
}

const SPACE = { space_id: 'sp_1', external_space_id: 'acme', name: 'Acme' };
const AGENT = { agent_id: 'agt_1', name: 'Support', template_id: 'tmpl_1' };
const MANIFEST = `external_space_id: acme
space: { name: Acme }
agents:
  - { template_id: tmpl_1, name: Support }
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

/** The command that creates an object, and the service's response. */
interface Case {
  readonly command: string;
  args(): string[];
  readonly answer: object;
  readonly id: string;
  readonly created: string;
}

const CASES: readonly Case[] = [
  {
    command: 'cron create',
    args: () => CRON,
    answer: { cron_job_id: 'cron_1' },
    id: 'cron_1',
    created: 'cron.created',
  },
  {
    command: 'upload',
    args: () => ['upload', write('a.txt', 'hello')],
    answer: { file_attachment_id: 'att_1' },
    id: 'att_1',
    created: 'upload.created',
  },
  {
    command: 'provision',
    args: () => ['provision', write('a.yaml', MANIFEST)],
    answer: { ...SPACE, created: true, agents: [AGENT] },
    id: 'sp_1',
    created: 'space.created',
  },
];

/** A service that creates what is requested, and calls `onPost` before it responds. */
function script({ answer }: Case, onPost: () => void): Script {
  const create: Handler = (_, response) => {
    onPost();
    sendJson(response, answer, 201);
  };
  return { 'POST *': create, 'GET *': json({}, 403) };
}

const posts = ({ requests }: FakeService): number => requests.filter(({ method }) => method === 'POST').length;

describe.each(CASES)('$command, with a shared state,', (each) => {
  test('sends nothing if the state cannot be reached, and exits with 8', async () => {
    const state = await shared();
    state.away();
    const service = await startFakeService(script(each, () => undefined));
    const ran = await state.run(service, each.args());
    expect(ran).toMatchObject({ code: 8 });
    expect(ran.error()).toMatchObject({ type: 'state_unavailable' });
    expect(posts(service)).toBe(0);
  });

  test('prints and keeps the id if the state is lost before it is recorded, and the next run publishes it', async () => {
    const state = await shared();
    const service = await startFakeService(script(each, state.away));
    const args = each.args();
    const ran = await state.run(service, args);
    expect(ran).toMatchObject({ code: 9 });
    expect(ran.stdout).toContain(each.id);
    expect(ran.stderr).toContain(each.id);
    expect(ran.stderr).toMatch(/"recovery_file": ?"[^"]*\.recovery-/);
    expect(state.waiting()).not.toEqual([]);
    state.back();
    expect(await state.records()).not.toContain(each.created);
    service.respond(script(each, () => undefined));
    // Its reservation is still open, and this process is alive.
    const elsewhere = await state.run(service, [...args, '--timeout', '1s'], { env: { HOME: tempDirectory() } });
    expect(elsewhere.code).not.toBe(0);
    const again = await state.run(service, [...args, ...(each.command === 'cron create' ? ['--ensure'] : [])]);
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout).toContain(each.id);
    expect(posts(service)).toBe(1);
    expect(await state.records()).toContain(each.created);
    expect(state.waiting()).toEqual([]);
  });

  test('prints and keeps the id if the branch is rewritten before it is recorded, and publishes it once that is undone', async () => {
    const state = await shared();
    let tip = '';
    const service = await startFakeService(
      script(each, () => {
        tip = state.rewrite();
      }),
    );
    const args = each.args();
    const ran = await state.run(service, args);
    expect(ran).toMatchObject({ code: 9 });
    expect(ran.stdout).toContain(each.id);
    expect(ran.stderr).toMatch(/"recovery_file": ?"[^"]*\.recovery-/);
    expect(ran.stderr).toContain('publishes it');
    const again = [...args, ...(each.command === 'cron create' ? ['--ensure'] : [])];
    const refused = await state.run(service, again);
    expect(refused.error()).toMatchObject({ hint: expect.stringContaining(`git update-ref refs/heads/state ${tip}`) });
    state.git('update-ref', 'refs/heads/state', tip);
    expect(await state.run(service, again)).toMatchObject({ code: 0, stdout: expect.stringContaining(each.id) });
    expect(posts(service)).toBe(1);
    expect(await state.records()).toContain(each.created);
    expect(state.waiting()).toEqual([]);
  });

  test('does not promise to publish a record that could only be kept in the directory for temporary files', async () => {
    const state = await shared();
    const service = await startFakeService(script(each, state.away));
    const ran = await state.run(service, each.args(), { env: { XDG_STATE_HOME: '/dev/null/state' } });
    expect(ran).toMatchObject({ code: 9 });
    expect(ran.stdout).toContain(each.id);
    const [, kept = ''] = /"recovery_file": ?"([^"]*)"/.exec(ran.stderr) ?? [];
    expect(dirname(kept)).toBe(tmpdir());
    rmSync(kept);
    expect(ran.stderr).not.toContain('publishes it');
  });

  test('records the id even if the run is interrupted while the service responds', async () => {
    const state = await shared();
    const signals = manualSignals();
    const service = await startFakeService(script(each, signals.ctrlC));
    const ran = await state.run(service, each.args(), { signals, clock: fasterClock(1) });
    expect(ran.stdout).toContain(each.id);
    expect(await state.records()).toContain(each.created);
    expect(state.waiting()).toEqual([]);
  });
});
