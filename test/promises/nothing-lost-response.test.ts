import { copyFileSync, mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CRON_JOBS, createArgs } from '../support/cron.ts';
import { createGate, json, reset, sendJson, startFakeService } from '../support/fake-service.ts';
import { propertyRuns } from '../support/properties.ts';
import {
  fastClock,
  fasterClock,
  manualSignals,
  partnerctl,
  type RunOptions,
  run,
  tempDirectory,
  tinyRandom,
} from '../support/run.ts';
import { manifest, write } from '../support/service.ts';
import { readState, recordTypes } from '../support/state-file.ts';
import { bareRepository, prepared } from '../support/stores.ts';

/* What a response says is recorded or printed, whatever happens while it arrives. */

/** A command, and the service's response to its POST. */
interface Creation {
  readonly command: string;
  readonly args: () => readonly string[];
  readonly answer: object;
  readonly ids: readonly string[];
  /** The type of the record that has the id. */
  readonly record: string;
  /** What the error says about the id. */
  readonly advice: RegExp;
  /** The exit code if a shared state is lost meanwhile, and that of the next run once it is back. */
  readonly lost: number;
  readonly next: number;
}

const CREATIONS: readonly Creation[] = [
  {
    command: 'cron create',
    args: () => createArgs('agt_1', 'daily'),
    answer: { cron_job_id: 'cron_1' },
    ids: ['cron_1'],
    record: 'cron.created',
    advice: /^When the state can be written again, record the job: partnerctl cron adopt cron_1 .*--name daily/,
    lost: 9,
    next: 5,
  },
  {
    command: 'upload',
    args: () => ['upload', write('a.txt', 'hello')],
    answer: { file_attachment_id: 'att_1' },
    ids: ['att_1'],
    record: 'upload.created',
    advice: /^Keep the id\. No run sends the file again without --retry-unknown/,
    lost: 9,
    next: 9,
  },
  {
    command: 'provision',
    args: () => ['provision', write('acme.yaml', manifest('acme'))],
    answer: {
      space_id: 'sp_1',
      external_space_id: 'acme',
      created: true,
      agents: [{ agent_id: 'agt_1', name: 'Support', template_id: 'tmpl_support' }],
    },
    ids: ['sp_1', 'agt_1'],
    record: 'space',
    advice: /^Run it again when the state can be written/,
    lost: 8,
    next: 0,
  },
];

/** A state that a test makes unreachable. */
async function place(kind: 'a file' | 'git') {
  const path = kind === 'git' ? bareRepository() : write('state.jsonl', '');
  return {
    state: kind === 'git' ? await prepared(`git+file://${path}#state`) : path,
    away() {
      if (kind === 'git') return renameSync(path, `${path}.away`);
      // A writer that has it open must not reach it, either.
      copyFileSync(path, `${path}.away`);
      rmSync(path);
      mkdirSync(path);
    },
    back() {
      if (kind === 'a file') rmdirSync(path);
      renameSync(`${path}.away`, path);
    },
  };
}

/** A machine whose token may read nothing. @param onPost called once the first POST has arrived, before its response */
async function machine(answer: object, onPost: (state: string) => unknown, state = write('state.jsonl', '')) {
  const service = await startFakeService({
    'POST *': async (_, response, count) => {
      if (count === 1) await onPost(state);
      sendJson(response, answer, 201);
    },
    'GET *': json({ detail: 'missing scope' }, 403),
  });
  const env = {
    PATH: process.env.PATH,
    PARTNER_BASE_URL: service.baseUrl,
    PARTNER_TOKEN: 'secret-token',
    PARTNER_STATE: state,
    PARTNER_OUTPUT: 'json',
  };
  return {
    service,
    state,
    run: (args: readonly string[], options: RunOptions = {}) =>
      run(args, { random: tinyRandom, env: { ...env, HOME: tempDirectory() }, ...options }),
  };
}

describe.each(CREATIONS)('An id that $command got', ({ command, args, answer, ids, record, advice, lost, next }) => {
  // The slow tests also lose git.
  const stores = (['a file', 'git'] as const).slice(0, propertyRuns(2, 1));

  it.each(stores)(
    'is printed with the error if it cannot be recorded, and no run creates it again: a state in %s',
    async (kind) => {
      const { state, away, back } = await place(kind);
      const { run, service } = await machine(answer, away, state);
      const sent = args();
      const ran = await run(sent);
      expect(ran.code, ran.stderr).toBe(kind === 'git' ? lost : 1);
      for (const id of ids) expect(ran.stdout).toContain(id);
      expect(ran.stderr).toContain(ids[0]);
      if (kind === 'a file') {
        expect(ran.error()).toMatchObject({
          type: 'local',
          message: expect.stringContaining(ids[0] ?? ''),
          hint: expect.stringMatching(advice),
          details: { why: expect.stringContaining('It is a directory.') },
        });
      }
      back();
      expect(await recordTypes(state)).not.toContain(record);
      for (const _ of [1, 2]) expect((await run(sent, { clock: fastClock() })).code).toBe(next);
      // The spec makes only provisioning safe to repeat.
      expect(service.posts()).toHaveLength(command === 'provision' ? 2 : 1);
    },
  );

  it('is not asked for if a shared state cannot be reached: exit 8', async () => {
    const { run, service } = await machine(answer, () => undefined, 'git+file:///nowhere#state');
    const ran = await run(args());
    expect({ code: ran.code, type: ran.error().type }).toEqual({ code: 8, type: 'state_unavailable' });
    expect(service.posts()).toEqual([]);
  });

  it('is recorded if the run is interrupted while the service responds', async () => {
    const signals = manualSignals();
    const { run, state, service } = await machine(answer, signals.ctrlC);
    const sent = args();
    const ran = await run(sent, { signals });
    for (const id of ids) expect(ran.stdout).toContain(id);
    expect((await recordTypes(state)).filter((type) => type === record)).toHaveLength(1);
    const again = await run([...sent, ...(sent[0] === 'cron' ? ['--ensure'] : [])]);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(ids[0] ?? '') });
    expect(service.posts()).toHaveLength(1);
  });

  it('is recorded in the file that is there if an older copy replaced the state meanwhile', async () => {
    const { run, state } = await machine(answer, (path) => {
      copyFileSync(path, `${path}.older`);
      renameSync(`${path}.older`, path);
    });
    const ran = await run(args());
    expect(ran.code, ran.stderr).toBe(0);
    expect(JSON.stringify((await readState(state)).records)).toContain(ids[0]);
  });
});

describe('An interrupted provision', () => {
  it('says that the space may have been provisioned if its request was lost', async () => {
    const signals = manualSignals();
    const service = await startFakeService({ 'GET *': json([]), 'POST *': json({ detail: 'overloaded' }, 503) });
    const clock = {
      ...fastClock(),
      async sleep(_: number, signal?: AbortSignal) {
        signals.ctrlC();
        signal?.throwIfAborted();
      },
    };
    const args = ['provision', '-', '-o', 'json'];
    const ran = await partnerctl(service.baseUrl, args, { stdin: manifest('a'), signals, clock });
    expect(ran.code).toBe(130);
    expect(ran.error().hint).toContain('may or may not have been provisioned');
  });

  const SIX = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth'];

  it.each([
    ['one', 9],
    ['two', 130],
  ])('of %s documents still reports an earlier lost response and how to reconcile it: exit %i', async (count, code) => {
    const signals = manualSignals();
    const inFlight = createGate();
    const service = await startFakeService({
      'GET /automation/spaces/': json([{ space_id: 's1', external_space_id: 'a' }]),
      'GET /automation/spaces/{id}/agents/': json([{ agent_id: 'a1', name: 'Support', template_id: 'tmpl_support' }]),
      [`GET ${CRON_JOBS}`]: json([]),
      [`POST ${CRON_JOBS}`]: async (request, response, number) => {
        // Four jobs are in flight, as many as are sent at once: the run is interrupted, and then the service answers.
        if (number === 4) {
          signals.ctrlC();
          inFlight.open();
        }
        await inFlight.pass();
        const { name } = request.json();
        if (name === 'first') reset(request, response, number);
        else sendJson(response, { cron_job_id: `cron_${name}` }, 201);
      },
    });
    const jobs = SIX.map((name) => `{ name: ${name}, instructions: x, schedule: '@daily' }`);
    const first = manifest('a').replace('"Support" }', `"Support", cron: [${jobs.join(', ')}] }`);
    const stdin = count === 'one' ? first : `${first}---\n${manifest('b')}`;
    const options = { stdin, signals, clock: fasterClock(1) };
    const ran = await partnerctl(service.baseUrl, ['provision', '-', '-o', 'json'], options);
    expect(ran.code).toBe(code);
    const hint = expect.stringContaining('partnerctl cron reconcile');
    expect(ran.error()).toMatchObject({ hint });
    expect(ran.json<{ results: object[] }>().results[0]).toMatchObject({
      status: 'failed',
      cron: ['unknown', 'created', 'created', 'created', 'skipped', 'skipped'].map((status) => ({ status })),
      error: { type: 'outcome_unknown', hint },
    });
  });
});
