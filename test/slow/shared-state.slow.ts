import { renameSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  type FakeService,
  type Handler,
  json,
  type Script,
  sendJson,
  startFakeService,
} from '../support/fake-service.ts';
import { fasterClock, type Ran, run, tinyRandom } from '../support/run.ts';
import { write } from '../support/service.ts';
import { recordTypes } from '../support/state-file.ts';
import { bareRepository, prepared } from '../support/stores.ts';

/** A state on a branch of a repository that can be moved away: then it is unreachable. */
interface Shared {
  away(): void;
  back(): void;
  /** The types of the records on the branch. */
  records(): Promise<readonly string[]>;
  /** Runs a command on a machine of its own. */
  run(service: FakeService, args: readonly string[]): Promise<Ran>;
}

async function shared(): Promise<Shared> {
  const path = bareRepository();
  const address = await prepared(`git+file://${path}#state`);
  return {
    away: () => renameSync(path, `${path}.away`),
    back: () => renameSync(`${path}.away`, path),
    records: () => recordTypes(address),
    run: (service, args) =>
      run([...args, '--state', address, '-o', 'json'], {
        random: tinyRandom,
        clock: fasterClock(20),
        env: { PATH: process.env.PATH, PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'secret-token' },
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

/** The command that creates an object, and the service's response. */
interface Case {
  readonly command: string;
  args(): string[];
  readonly answer: object;
  readonly id: string;
  readonly created: string;
  /** The exit code if the id could not be recorded, and those of the runs after that. */
  readonly unrecorded: number;
  readonly next: readonly number[];
}

const CASES: readonly Case[] = [
  {
    command: 'cron create',
    args: () => 'cron create --agent agt_1 --name daily --instructions Go. --schedule @daily'.split(' '),
    answer: { cron_job_id: 'cron_1' },
    id: 'cron_1',
    created: 'cron.created',
    unrecorded: 9,
    next: [5, 5],
  },
  {
    command: 'upload',
    args: () => ['upload', write('a.txt', 'hello')],
    answer: { file_attachment_id: 'att_1' },
    id: 'att_1',
    created: 'upload.created',
    unrecorded: 9,
    next: [9, 9],
  },
  {
    command: 'provision',
    args: () => ['provision', write('a.yaml', MANIFEST)],
    answer: { ...SPACE, created: true, agents: [AGENT] },
    id: 'sp_1',
    created: 'space',
    unrecorded: 8,
    next: [0, 0],
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

  test('prints the id if the state is lost before it is recorded, and no run creates it again', async () => {
    const state = await shared();
    const service = await startFakeService(script(each, state.away));
    const args = each.args();
    const ran = await state.run(service, args);
    expect(ran.code, ran.stderr).toBe(each.unrecorded);
    expect(ran.stdout).toContain(each.id);
    expect(ran.stderr).toContain(each.id);
    state.back();
    expect(await state.records()).not.toContain(each.created);
    service.respond(script(each, () => undefined));
    for (const code of each.next) {
      const again = await state.run(service, args);
      expect(again.code, again.stderr).toBe(code);
    }
    // The spec makes only provisioning safe to repeat.
    expect(posts(service)).toBe(each.command === 'provision' ? 2 : 1);
  });
});
