import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createChat } from '../support/chat.ts';
import { createArgs } from '../support/cron.ts';
import { run, tempDirectory } from '../support/run.ts';
import { manifest, service, write } from '../support/service.ts';
import { readState } from '../support/state-file.ts';

/* An id that the service returned is on disk before the command says so, or the error prints it. A state only ever grows. */

const manifests = (...ids: string[]): string => write('many.yaml', ids.map((id) => manifest(id)).join('---\n'));

const DAILY = "{ name: daily, instructions: Look., schedule: '0 9 * * *' }";

function jobFile(agent: string, ...names: string[]): string {
  const jobs = names.map((name) => `  - { name: ${name}, instructions: Look., schedule: '0 9 * * *' }\n`);
  return write('jobs.yaml', `agent: ${agent}\njobs:\n${jobs.join('')}`);
}

/** A sandbox with an agent. */
async function opened() {
  const sandbox = await service();
  const { agent_id, source_id, space_id } = await createChat(sandbox);
  const state = join(tempDirectory(), 'state.jsonl');
  const { admin, spaces, agents } = sandbox;
  return {
    service: sandbox,
    env: { ...sandbox.env, PARTNER_STATE: state },
    state,
    agent: agent_id,
    source: source_id,
    /** The ids of what commands have created, in no order. */
    createdIds: async (): Promise<string[]> => {
      const made = (await spaces()).filter((space) => space.space_id !== space_id);
      const installed = await Promise.all(made.map((space) => agents(space.space_id)));
      const all = [(await admin('GET', '/cron-jobs')).json.cron_jobs, (await admin('GET', '/uploads')).json.uploads];
      return [...all.flat(), ...made, ...installed.flat()].map(
        (each) => each.cron_job_id ?? each.file_attachment_id ?? each.agent_id ?? each.space_id,
      );
    },
  };
}

const COMMANDS: readonly (readonly [string, (agent: string) => string[]])[] = [
  ['cron create', (agent) => createArgs(agent, 'daily')],
  ['cron create -f', (agent) => ['cron', 'create', '-f', jobFile(agent, 'morning', 'evening'), '-o', 'ndjson']],
  ['upload', () => ['upload', write('a.txt', 'one'), '-o', 'json']],
  ['upload of two files', () => ['upload', write('a.txt', 'one'), write('b.txt', 'two'), '-o', 'ndjson']],
  ['provision', () => ['provision', manifests('a'), '-o', 'json']],
  [
    'provision of six spaces and a job',
    () => {
      const scheduled = manifest('f').replace('"Support" }', `"Support", cron: [${DAILY}] }`);
      const path = write('six.yaml', [...'abcde'].map((id) => `${manifest(id)}---\n`).join('') + scheduled);
      return ['provision', path, '-o', 'ndjson', '--concurrency', '1'];
    },
  ],
];

/** What a stream does that cannot be written to. */
const failWith = (code: string) => (): never => {
  throw Object.assign(new Error(`${code}: lost`), { code });
};

describe('An id that the service returned', () => {
  it.each(COMMANDS)('is in the state before it is printed: %s', async (_, argsOf) => {
    const { env, state, agent, createdIds } = await opened();
    const copies: { readonly printed: string; readonly copy: string }[] = [];
    const onStdout = (printed: string): void => {
      const copy = `${state}.${copies.length}`;
      copyFileSync(state, copy);
      copies.push({ printed, copy });
    };
    const ran = await run(argsOf(agent), { env, onStdout });
    expect(ran.code, ran.stderr).toBe(0);
    const created = await createdIds();
    expect(created).not.toEqual([]);
    expect(created.filter((id) => !ran.stdout.includes(id))).toEqual([]);
    for (const { printed, copy } of copies) {
      const recorded = JSON.stringify((await readState(copy)).records);
      expect(created.filter((id) => printed.includes(id) && !recorded.includes(id))).toEqual([]);
    }
  });

  it.each(COMMANDS)(
    'is in the state, and printed by a repeat, if a full disk loses the output: %s',
    async (_, argsOf) => {
      const { service, env, agent, createdIds } = await opened();
      const args = argsOf(agent);
      const lost = await run(args, { env, onStdout: failWith('ENOSPC') });
      expect(lost).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOSPC') });
      await service.forget();
      const again = await run([...args, ...(args[0] === 'cron' ? ['--ensure'] : [])], { env });
      expect(again.code, again.stderr).toBe(0);
      for (const id of await createdIds()) expect(again.stdout).toContain(id);
      expect(await service.posts()).toEqual([]);
    },
  );

  it.each(COMMANDS)('is in the state, like all later ones, if nobody reads the output: %s', async (_, argsOf) => {
    const { env, state, agent, createdIds } = await opened();
    expect(await run(argsOf(agent), { env, onStdout: failWith('EPIPE') })).toMatchObject({ code: 0 });
    const created = await createdIds();
    expect(created).not.toEqual([]);
    const recorded = JSON.stringify((await readState(state)).records);
    for (const id of created) expect(recorded).toContain(id);
  });
});

it('A full disk does not hide that a job was blocked', async () => {
  const { env, agent } = await opened();
  expect((await run(createArgs(agent, 'daily'), { env })).code).toBe(0);
  const blocked = await run(createArgs(agent, 'daily'), { env, onStdout: failWith('ENOSPC') });
  expect(blocked.code).toBe(5);
  expect(blocked.error()).toMatchObject({ status: null, hint: expect.stringMatching(/ENOSPC/) });
});

describe('A state', () => {
  it('is only ever appended to: no command changes a byte that was written before, or replaces the file', async () => {
    const { env, state, agent, source } = await opened();
    const other = join(tempDirectory(), 'other.jsonl');
    expect((await run(['upload', write('b.txt', 'two'), '--state', other], { env })).code).toBe(0);
    const job = createArgs(agent, 'daily');
    const file = write('a.txt', 'one');
    const commands = [
      ['provision', manifests('a', 'b')],
      ['upload', file],
      job,
      [...job, '--ensure'],
      ['upload', file],
      ['chat', 'send', '--source', source, '--session', 's', 'Hello'],
      ['state', 'copy', other, state],
      ['cron', 'reconcile'],
      ['cron', 'forget', '--agent', agent, '--name', 'daily', '--yes'],
      ['provision', manifests('a', 'b', 'c')],
      ['state', 'verify'],
    ];
    let [before, inode] = [Buffer.alloc(0), 0];
    const grown: number[] = [];
    for (const command of commands) {
      const ran = await run(command, { env });
      expect(ran.code, ran.stderr).toBe(0);
      const now = readFileSync(state);
      expect(now.subarray(0, before.length).equals(before), command.join(' ')).toBe(true);
      if (inode !== 0) expect(statSync(state).ino).toBe(inode);
      grown.push(now.length - before.length);
      [before, inode] = [now, statSync(state).ino];
    }
    expect(grown.filter((bytes) => bytes > 0).length).toBeGreaterThanOrEqual(6);
  });

  it('can be continued after a write that was torn, and no copy of its past sets it back: no record is lost', async () => {
    const { env, state, createdIds } = await opened();
    const [a, b] = [write('a.txt', 'one'), write('b.txt', 'two')];
    expect((await run(['upload', a], { env })).code).toBe(0);
    const older = `${state}.older`;
    copyFileSync(state, older);
    const bytes = readFileSync(state);
    writeFileSync(state, Buffer.concat([bytes, bytes.subarray(0, bytes.length / 3)]));
    expect((await run(['upload', b], { env })).code).toBe(0);
    const recorded = JSON.stringify((await readState(state)).records);
    for (const id of await createdIds()) expect(recorded).toContain(id);
    const again = await run(['upload', a, b, '-o', 'json'], { env });
    expect(again.json()).toMatchObject([{ status: 'skipped' }, { status: 'skipped' }]);
    // A copy of its own past does not set it back.
    const before = (await readState(state)).records;
    expect((await run(['state', 'copy', older, state], { env })).code).toBe(0);
    expect((await readState(state)).records).toEqual(before);
  });
});
