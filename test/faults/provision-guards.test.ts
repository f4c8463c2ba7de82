import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentKey, spaceKey } from '../../src/provision/space-records.ts';
import { encodeRecord } from '../../src/state-old/record.ts';
import { fastClock, fasterClock, tempDirectory } from '../support/run.ts';
import { type Habits, type OddService, oddService, type Trouble } from './odd-service.ts';
import { AGENTS, expectDone, machine, manifest, type Provisioned } from './provisioning.ts';

/*
 * What prevents runs that cannot see each other from installing agents twice: wrong clocks, other machines, lists that are
 * forbidden or stale. The service installs the named agents again on every POST.
 */

const unreadable: Habits['forbidden'] = ({ method }) => method === 'GET';

const hiddenAgents: Habits['forbidden'] = ({ path }) => path.endsWith('/agents/');

/** What another user installs, with a separate state file. */
async function provisionElsewhere(service: OddService, ...ids: string[]): Promise<void> {
  const ran = await machine(ids.map((id) => manifest(id)).join('---\n'))(service);
  expect(ran.code).toBe(0);
}

/** Adds the reservation of a process that this machine cannot see, without a recorded outcome. */
function reserveElsewhere(state: string, origin: string, externalId: string, { at = '', until = '' } = {}): void {
  const line = encodeRecord({
    type: 'space.reserved',
    at,
    id: `elsewhere-${externalId}`,
    key: spaceKey(origin, externalId),
    origin,
    external_space_id: externalId,
    content_hash: 'hash',
    agents: AGENTS.map((name) => ({ key: agentKey(name, `tmpl_${name.toLowerCase()}`) })),
    owner: { machine: 'elsewhere', pid: 1, started: '1' },
    until,
    seen: [],
  } as Parameters<typeof encodeRecord>[0]);
  appendFileSync(state, `\n${line}\n`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

describe('a wrong clock', () => {
  it('does not make a run of another machine count as dead before its reserved time and --settle have passed', async () => {
    const service = await oddService();
    const state = join(tempDirectory(), 'state.jsonl');
    reserveElsewhere(state, service.baseUrl, 'acme-1', {
      at: '2025-12-31T23:50:00.000Z',
      until: '2025-12-31T23:51:00.000Z',
    });
    const clock = fastClock();
    expectDone(service, await machine(manifest('acme-1'), { clock })(service, '--state', state), ['acme-1']);
    expect(sum(clock.slept)).toBe(70_000);
    expect(service.posts()).toHaveLength(1);
  });

  it('does not hide that the agents were installed just now, and that the list may be late', async () => {
    let staleReads = 0;
    const service = await oddService({
      isStale: () => {
        staleReads -= 1;
        return staleReads >= 0;
      },
    });
    const state = join(tempDirectory(), 'state.jsonl');
    const behind = machine(manifest('acme-1'), { clock: fastClock(Date.UTC(2026, 0, 1, 11)) });
    expectDone(service, await behind(service, '--state', state), ['acme-1']);
    staleReads = 4;
    const right = machine(manifest('acme-1'), { clock: fastClock(Date.UTC(2026, 0, 1, 12)) });
    expectDone(service, await right(service, '--state', state), ['acme-1']);
    expect(service.posts()).toHaveLength(1);
  });
});

describe('the list of spaces', () => {
  it.each<Trouble>([404, 405, 501])(
    'does not count as absent after a %s if it worked before: nothing is posted (exit 8)',
    async (status) => {
      let isLost = false;
      const service = await oddService({
        trouble: ({ method }) => (isLost && method === 'GET' ? status : undefined),
      });
      const state = join(tempDirectory(), 'state.jsonl');
      expect((await machine(manifest('acme-1'))(service, '--state', state)).code).toBe(0);
      await provisionElsewhere(service, 'acme-2');
      isLost = true;
      const ran = await machine(manifest('acme-2'))(service, '--state', state);
      expect(ran.code).toBe(8);
      expect(ran.error().message).toContain('although it was read before');
      expect(service.posts()).toHaveLength(2);
    },
  );

  it('leaves the guard to the state file if it never worked', async () => {
    const service = await oddService({ trouble: ({ method }) => (method === 'GET' ? 404 : undefined) });
    const provision = machine(manifest('acme-1'));
    for (let run = 1; run <= 2; run += 1) expectDone(service, await provision(service), ['acme-1']);
    expect(service.posts()).toHaveLength(1);
  });

  it('is read again during a long run, which does not touch a space that another machine provisioned meanwhile', async () => {
    const clock = fastClock();
    let isFirst = true;
    const service: OddService = await oddService({
      async beforeAnswer() {
        if (!isFirst) return;
        isFirst = false;
        await provisionElsewhere(service, 'acme-2');
        await clock.sleep(3000);
      },
    });
    const both = machine(['acme-1', 'acme-2'].map((id) => manifest(id)).join('---\n'), { clock });
    const ran = await both(service, '--concurrency', '1');
    expectDone(service, ran, ['acme-1', 'acme-2']);
    expect(ran.json<Provisioned>().results.map(({ status }) => status)).toEqual(['created', 'unchanged']);
    expect(service.posts()).toHaveLength(2);
  });
});

describe('--retry-unknown', () => {
  it('in two concurrent runs repeats the request of an earlier run, not the one that the other run just lost', async () => {
    const service = await oddService({
      forbidden: unreadable,
      trouble: ({ method }, count) => (method === 'POST' ? (count === 1 ? 'reset' : 'reset after') : undefined),
      beforeAnswer: () => new Promise((resolve) => setTimeout(resolve, 300)),
    });
    const state = join(tempDirectory(), 'state.jsonl');
    const provision = machine(manifest('acme-1'), { clock: fasterClock() });
    expect((await provision(service, '--state', state)).code).toBe(9);
    const again = () => provision(service, '--state', state, '--retry-unknown');
    const both = await Promise.all([again(), again()]);
    expect(both.map(({ code }) => code)).toEqual([9, 9]);
    expect(service.agentNames('acme-1')).toEqual(AGENTS);
  });
});

describe('an existing space whose agents cannot be listed', () => {
  it('is not changed (exit 9) until --retry-unknown if the state file does not know it', async () => {
    const service = await oddService({ forbidden: hiddenAgents });
    await provisionElsewhere(service, 'acme-1');
    const provision = machine(manifest('acme-1'));
    for (let run = 1; run <= 2; run += 1) {
      const ran = await provision(service);
      expect(ran.code).toBe(9);
      expect(ran.json<Provisioned>().results[0]?.error).toMatchObject({
        type: 'outcome_unknown',
        message: expect.stringContaining('may have the agents'),
        hint: expect.stringContaining('--retry-unknown'),
      });
    }
    expect(service.posts()).toHaveLength(1);
    expect((await provision(service, '--retry-unknown')).code).toBe(0);
    expect((await provision(service)).code).toBe(0);
    expect(service.posts()).toHaveLength(2);
  });

  it('gets the agents added to the manifest if an earlier run recorded the space', async () => {
    const service = await oddService({ forbidden: hiddenAgents });
    const state = join(tempDirectory(), 'state.jsonl');
    expect((await machine(manifest('acme-1', AGENTS.slice(0, 2)))(service, '--state', state)).code).toBe(0);
    expectDone(service, await machine(manifest('acme-1'))(service, '--state', state), ['acme-1']);
    expect(service.posts()).toHaveLength(2);
  });
});
