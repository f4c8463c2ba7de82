import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fastClock, fasterClock, tempDirectory } from '../support/run.ts';
import { type Habits, type OddService, oddService, type Trouble } from './odd-service.ts';
import { AGENTS, expectDone, machine, manifest, type Provisioned } from './provisioning.ts';

/* Against a service that installs the named agents again on every POST. */

const firstPost =
  (trouble: Trouble): NonNullable<Habits['trouble']> =>
  ({ method }, count) =>
    method === 'POST' && count === 1 ? trouble : undefined;

const unreadable: Habits['forbidden'] = ({ method }) => method === 'GET';

describe('a lost response, with a token that may not list agents,', () => {
  it.each<Trouble>(['reset after', 'cut after', '502 after', 'late 504', 503, 'reset'])(
    '(%s) ends with exit 9, and the same command posts nothing more',
    async (trouble) => {
      const service = await oddService({ forbidden: unreadable, trouble: firstPost(trouble) });
      const provision = machine(manifest('acme-1'));
      for (let run = 1; run <= 2; run += 1) {
        const ran = await provision(service);
        expect(ran.code).toBe(9);
        expect(ran.json<Provisioned>().results[0]).toMatchObject({
          status: 'failed',
          error: { type: 'outcome_unknown', hint: expect.stringContaining('--retry-unknown') },
        });
        expect(service.posts()).toHaveLength(1);
      }
    },
  );

  it("is settled by --retry-unknown, which posts once more at the user's risk", async () => {
    const service = await oddService({ forbidden: unreadable, trouble: firstPost('reset') });
    const provision = machine(manifest('acme-1'));
    expect((await provision(service)).code).toBe(9);
    expectDone(service, await provision(service, '--retry-unknown'), ['acme-1']);
    expectDone(service, await provision(service), ['acme-1']);
    expect(service.posts()).toHaveLength(2);
  });

  it('is settled by a token that may list agents, after which the first token works, too', async () => {
    let mayRead = false;
    const service = await oddService({
      forbidden: (request) => !mayRead && request.method === 'GET',
      trouble: firstPost('reset after'),
    });
    const provision = machine(manifest('acme-1'));
    expect((await provision(service)).code).toBe(9);
    mayRead = true;
    const settled = await provision(service);
    expectDone(service, settled, ['acme-1']);
    expect(settled.json<Provisioned>().results[0]?.status).toBe('unchanged');
    mayRead = false;
    expectDone(service, await provision(service), ['acme-1']);
    expect(service.posts()).toHaveLength(1);
  });

  it('does not block other spaces', async () => {
    const service = await oddService({ forbidden: unreadable, trouble: firstPost('reset after') });
    const provision = machine([manifest('acme-1'), manifest('acme-2')].join('---\n'));
    for (let run = 1; run <= 2; run += 1) {
      const ran = await provision(service, '--concurrency', '1');
      expect(ran.code).toBe(10);
      const statuses = ran.json<Provisioned>().results.map(({ status }) => status);
      expect(statuses).toEqual(['failed', run === 1 ? 'created' : 'unchanged']);
    }
    expect(service.posts()).toHaveLength(2);
  });

  it('is not confused with a 429, after which the request is repeated', async () => {
    const service = await oddService({ forbidden: unreadable, trouble: firstPost(429) });
    expectDone(service, await machine(manifest('acme-1'))(service), ['acme-1']);
    expect(service.posts()).toHaveLength(2);
  });
});

describe('a damaged state file', () => {
  it('whose lines may belong to the space blocks a token that may not list agents (exit 9), until --retry-unknown', async () => {
    let mayRead = false;
    const service = await oddService({ forbidden: (request) => !mayRead && request.method === 'GET' });
    const state = join(tempDirectory(), 'state.jsonl');
    const provision = machine([manifest('acme-1'), manifest('acme-2')].join('---\n'));
    expect((await provision(service, '--state', state)).code).toBe(0);
    const lines = readFileSync(state, 'utf8').split('\n');
    const damaged = lines.map((line) => (line.includes('acme-1') ? line.replace('"content_hash":"', '$&x') : line));
    writeFileSync(state, damaged.join('\n'));
    const ran = await provision(service, '--state', state);
    expect(ran.code).toBe(10);
    expect(ran.json<Provisioned>().results).toMatchObject([
      { status: 'failed', error: { type: 'outcome_unknown', hint: expect.stringContaining('--retry-unknown') } },
      { status: 'unchanged' },
    ]);
    expect(service.posts()).toHaveLength(2);
    mayRead = true;
    expect((await provision(service, '--state', state)).code).toBe(0);
    expect(service.posts()).toHaveLength(2);
    mayRead = false;
    writeFileSync(state, damaged.join('\n'));
    expect((await provision(service, '--state', state, '--retry-unknown')).code).toBe(0);
    expect((await provision(service, '--state', state)).code).toBe(0);
    expect(service.posts()).toHaveLength(3);
  });
});

describe('a lost response, with a token that may list the agents,', () => {
  it('is followed by reads until the agents appear if the request is carried out late (504)', async () => {
    const service = await oddService({ trouble: firstPost('late 504') });
    const ran = await machine(manifest('acme-1'))(service);
    expectDone(service, ran, ['acme-1']);
    expect(ran.json<Provisioned>().results[0]?.status).toBe('created');
    expect(service.posts()).toHaveLength(1);
  });

  it.each([
    ['10 s by default', [], 10_000],
    ['as long as --settle says', ['--settle', '25s'], 25_000],
  ])('is followed by a wait and a retry if the request was never carried out: %s', async (_, flags, waited) => {
    const service = await oddService({ trouble: firstPost(503) });
    const clock = fastClock();
    const ran = await machine(manifest('acme-1'), { clock, random: () => 0 })(service, ...flags);
    expectDone(service, ran, ['acme-1']);
    expect(service.posts()).toHaveLength(2);
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBe(waited);
  });

  it('is waited for even with --retries 0, and the error says that nothing was installed', async () => {
    const provision = machine(manifest('acme-1'));
    const failed = await provision(await oddService({ trouble: firstPost(503) }), '--retries', '0');
    expect(failed.code).toBe(8);
    expect(failed.error().message).toContain('were not installed');
    const late = await oddService({ trouble: firstPost('late 504') });
    expectDone(late, await provision(late, '--retries', '0'), ['acme-1']);
  });

  it('is retried --retries times at most: four POSTs in forty seconds to a service that always fails', async () => {
    const service = await oddService({ trouble: ({ method }) => (method === 'POST' ? 503 : undefined) });
    const clock = fastClock();
    const ran = await machine(manifest('acme-1'), { clock, random: () => 0 })(service);
    expect(ran.code).toBe(8);
    expect(service.posts()).toHaveLength(4);
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBe(40_000);
  });

  it('is checked by the next run before it posts if --timeout leaves no time to wait', async () => {
    const service = await oddService({ trouble: firstPost('late 504') });
    const provision = machine(manifest('acme-1'));
    const tinyRandom = await provision(service, '--timeout', '500ms');
    expect(tinyRandom.code).toBe(8);
    expect(tinyRandom.error().message).toContain('may or may not');
    expectDone(service, await provision(service), ['acme-1']);
    expect(service.posts()).toHaveLength(1);
  });

  it('blocks later runs, too, if the service renamed the agents, until --retry-unknown', async () => {
    const service = await oddService({
      item: (resource, id, fields) => ({
        [`${resource}_id`]: `${resource}-${id}`,
        ...fields,
        ...(resource === 'agent' && { name: `${Object(fields).name} agent` }),
      }),
      hideTemplates: true,
      trouble: firstPost('reset after'),
    });
    const provision = machine(manifest('acme-1'));
    for (let run = 1; run <= 2; run += 1) {
      const ran = await provision(service);
      expect(ran.code).toBe(9);
      expect(ran.error().hint).toContain('--retry-unknown');
      expect(service.posts()).toHaveLength(1);
    }
    // The agent is installed, and still cannot be found by its name.
    expect((await provision(service, '--retry-unknown')).code).toBe(9);
    expect(service.posts()).toHaveLength(2);
  });
});

describe('a response that accepts the request without a readable id', () => {
  it.each<[string, NonNullable<Habits['answer']>, string]>([
    ['that has no space_id', () => ({ status: 'accepted' }), 'partnerctl contract set space.id'],
    ['about another external_space_id', (space) => ({ ...space, external_space_id: 'sp/4711' }), 'sp/4711'],
  ])(
    '%s ends with exit 9 if the list never shows the space, and only --retry-unknown posts again',
    async (_, answer, why) => {
      const service = await oddService({ answer, isStale: () => true });
      const provision = machine(manifest('acme-1'), { clock: fastClock() });
      const first = await provision(service);
      expect(first.code).toBe(9);
      expect(first.stderr).toContain(why);
      const again = await provision(service);
      expect(again.code).toBe(9);
      expect(again.json<Provisioned>().results[0]).toMatchObject({
        status: 'failed',
        error: { type: 'outcome_unknown', hint: expect.stringContaining('--retry-unknown') },
      });
      const plan = await provision(service, '--dry-run');
      expect(plan.json<{ spaces: unknown }>().spaces).toMatchObject([
        { action: 'none', blocked: [{ type: 'outcome_unknown', message: expect.stringContaining('acme-1') }] },
      ]);
      expect(service.posts()).toHaveLength(1);
      await provision(service, '--retry-unknown');
      expect(service.posts()).toHaveLength(2);
    },
  );

  it('is settled by a list that shows the space later', async () => {
    let isStale = true;
    const service = await oddService({ answer: () => ({ status: 'accepted' }), isStale: () => isStale });
    const provision = machine(manifest('acme-1'), { clock: fastClock() });
    expect((await provision(service)).code).toBe(9);
    isStale = false;
    const settled = await provision(service);
    expectDone(service, settled, ['acme-1']);
    expect(settled.json<Provisioned>().summary).toMatchObject({ unchanged: 1 });
    expect(service.posts()).toHaveLength(1);
  });

  it('does not block an agent that the manifest adds after the list shows what was accepted', async () => {
    let isAccepted = true;
    const service = await oddService({
      answer: (space, agents) => (isAccepted ? { status: 'accepted' } : { ...space, agents }),
      isStale: () => isAccepted,
    });
    const state = join(tempDirectory(), 'state.jsonl');
    const provision = (agents: readonly string[]) =>
      machine(manifest('acme-1', agents), { clock: fastClock() })(service, '--state', state);
    expect((await provision(['Sales', 'Support'])).code).toBe(9);
    isAccepted = false;
    expectDone(service, await provision(AGENTS), ['acme-1']);
    expect(service.posts()).toHaveLength(2);
  });

  it('is recorded once the list shows what was accepted, also if an agent that the manifest adds is refused', async () => {
    let isAccepted = true;
    let mayRead = true;
    const service = await oddService({
      answer: (space, agents) => (isAccepted ? { status: 'accepted' } : { ...space, agents }),
      isStale: () => isAccepted,
      forbidden: ({ method }) => method === 'GET' && !mayRead,
      trouble: ({ method }, count) => (method === 'POST' && count === 2 ? 404 : undefined),
    });
    const state = join(tempDirectory(), 'state.jsonl');
    const provision = (agents: readonly string[]) =>
      machine(manifest('acme-1', agents), { clock: fastClock() })(service, '--state', state);
    expect((await provision(['Sales', 'Support'])).code).toBe(9);
    isAccepted = false;
    expect((await provision(AGENTS)).code).not.toBe(0);
    mayRead = false;
    const again = await provision(['Sales', 'Support']);
    expect(again.json<Provisioned>().results).toMatchObject([{ status: 'unchanged' }]);
    expect(service.agentNames('acme-1')).toEqual(['Sales', 'Support']);
  });

  it('does not count as accepted if it reports an error', async () => {
    const answer = () => ({ error: { code: 'busy', message: 'Try again.' } });
    const service = await oddService({ answer, isStale: () => true });
    const provision = machine(manifest('acme-1'), { clock: fastClock() });
    expect((await provision(service)).code).toBe(8);
    expect((await provision(service)).code).toBe(8);
    expect(service.posts()).toHaveLength(2);
  });
});

describe('a list of agents', () => {
  it('that does not show yet what an earlier run installed is read again before anything is posted', async () => {
    let staleReads = 0;
    const service = await oddService({
      isStale: () => {
        staleReads -= 1;
        return staleReads >= 0;
      },
    });
    const provision = machine(manifest('acme-1'));
    expectDone(service, await provision(service), ['acme-1']);
    staleReads = 4;
    const again = await provision(service);
    expectDone(service, again, ['acme-1']);
    expect(again.json<Provisioned>().results[0]?.status).toBe('unchanged');
    expect(service.posts()).toHaveLength(1);
  });

  it('that still lacks agents after --settle proves that someone removed them, and they are installed again', async () => {
    const service = await oddService();
    const clock = fastClock();
    const provision = machine(manifest('acme-1'), { clock });
    await provision(service);
    service.spaces.get('acme-1')?.agents.splice(0, 2);
    expectDone(service, await provision(service), ['acme-1']);
    expect(clock.slept.reduce((sum, ms) => sum + ms, 0)).toBe(10_000);
    expect(service.posts()).toHaveLength(2);
  });

  it('that shows a space before its agents can be listed (404) is read again', async () => {
    const service = await oddService({
      trouble: (request, count) => {
        if (request.method === 'POST') return count === 1 ? 'reset after' : undefined;
        return request.path.endsWith('/agents/') && count <= 4 ? 404 : undefined;
      },
    });
    expectDone(service, await machine(manifest('acme-1'))(service), ['acme-1']);
    expect(service.posts()).toHaveLength(1);
  });
});

describe('a document that fails after a lost request had installed some agents', () => {
  it('names only the agents of the last request', async () => {
    const service = await oddService({
      trouble: ({ method }, count) => {
        if (method !== 'POST') return undefined;
        return count === 1 ? 'reset after' : 405;
      },
      // The first request installs one agent only.
      beforeAnswer: async () => void service.spaces.get('acme-1')?.agents.splice(1),
    });
    const ran = await machine(manifest('acme-1'), { clock: fastClock() })(service);
    const [result] = ran.json<Provisioned>().results;
    expect(result?.agents.map(({ status }) => status)).toEqual(['created', 'failed', 'failed']);
    expect(result?.error?.message).toMatch(/^The agents "Support", "Triage" cannot be installed: /);
  });
});

describe('two concurrent runs with one state file', () => {
  it.each<[string, Habits]>([
    ['may list the agents', {}],
    ['may not list the agents', { forbidden: unreadable }],
    ['lose every second answer', { trouble: (_, count) => (count % 2 === 0 ? 'reset after' : undefined) }],
  ])('that %s install each agent once, in three rounds', async (_, habits) => {
    for (const round of [1, 3, 6]) {
      const service = await oddService({
        ...habits,
        beforeAnswer: () => new Promise((resolve) => setTimeout(resolve, 2 * round)),
      });
      const ids = ['acme-1', 'acme-2', 'acme-3'];
      const provision = machine(ids.map((id) => manifest(id)).join('---\n'), { clock: fasterClock() });
      const both = await Promise.all([provision(service), provision(service)]);
      for (const ran of both) expectDone(service, ran, ids);
    }
  });
});

describe('a name in another Unicode form', () => {
  it('does not cause a second installation if the service composes it, even without the state file', async () => {
    const [composed, decomposed] = ['Café'.normalize('NFC'), 'Café'.normalize('NFD')];
    const service = await oddService({
      item: (resource, id, fields) => ({
        [`${resource}_id`]: `${resource}-${id}`,
        ...fields,
        ...(resource === 'agent' && { name: String(Object(fields).name).normalize('NFC') }),
      }),
    });
    for (const names of [[decomposed], [composed], [decomposed, AGENTS[0] ?? '']]) {
      expect((await machine(manifest('acme-1', names))(service)).code).toBe(0);
    }
    expect(service.spaces.get('acme-1')?.agents.map(({ name }) => name)).toEqual([decomposed, AGENTS[0]]);
  });
});

/** Gives the only space of a service another external id. @returns the space */
function renameOnly({ spaces }: OddService, external_space_id: string) {
  const [space] = spaces.values();
  if (!space) throw new Error('no space');
  spaces.clear();
  spaces.set(external_space_id, { ...space, external_space_id });
  return space;
}

describe('an external_space_id that the service lists in another form', () => {
  it.each<[string, (id: unknown) => string | null]>([
    ['in lower case', (id) => String(id).toLowerCase()],
    ['with a prefix', (id) => `partner-7:${id}`],
    ['as null', () => null],
  ])('%s does not cause a second installation: the recorded space_id shows that the space exists', async (_, shown) => {
    const item: Habits['item'] = (resource, id, fields) => ({
      [`${resource}_id`]: `${resource}-${id}`,
      ...fields,
      ...('external_space_id' in fields && { external_space_id: shown(fields.external_space_id) }),
    });
    const service = await oddService({ item });
    const provision = machine(manifest('ACME-1'));
    expectDone(service, await provision(service), ['ACME-1']);
    const again = await provision(service);
    expectDone(service, again, ['ACME-1']);
    expect(again.json<Provisioned>().summary).toMatchObject({ unchanged: 1 });
    expect(service.posts()).toHaveLength(1);
  });

  it('is shown as a difference, so that the manifest can be corrected', async () => {
    const item: Habits['item'] = (resource, id, fields) => ({
      [`${resource}_id`]: `${resource}-${id}`,
      ...fields,
      ...('external_space_id' in fields && { external_space_id: String(fields.external_space_id).toLowerCase() }),
    });
    const service = await oddService({ item });
    const provision = machine(manifest('ACME-1'));
    expectDone(service, await provision(service), ['ACME-1']);
    const plan = await provision(service, '--dry-run');
    expect(plan.json<{ spaces: unknown }>().spaces).toMatchObject([
      { action: 'none', differences: [{ field: 'external_space_id', service: 'acme-1', manifest: 'ACME-1' }] },
    ]);
  });

  it('does not hide that the space now belongs to another document', async () => {
    const service = await oddService();
    const state = join(tempDirectory(), 'state.jsonl');
    expectDone(service, await machine(manifest('acme-1'))(service, '--state', state), ['acme-1']);
    renameOnly(service, 'acme-2');
    const both = machine(`${manifest('acme-1')}---\n${manifest('acme-2')}`, { clock: fastClock() });
    expectDone(service, await both(service, '--state', state), ['acme-1', 'acme-2']);
    expect(service.posts()).toHaveLength(2);
  });

  it('does not hide a new document with the id that a renamed space had', async () => {
    const service = await oddService();
    const state = join(tempDirectory(), 'state.jsonl');
    expectDone(service, await machine(manifest('acme'))(service, '--state', state), ['acme']);
    renameOnly(service, 'acme-old');
    expectDone(service, await machine(manifest('acme-old'))(service, '--state', state), ['acme-old']);
    const again = await machine(manifest('acme'), { clock: fastClock() })(service, '--state', state);
    expectDone(service, again, ['acme-old', 'acme']);
    expect(again.json<Provisioned>().results).toMatchObject([{ status: 'created' }]);
    expect(service.posts()).toHaveLength(2);
  });

  it('does not mix its agents with those of a space that the service creates instead: the error names both spaces', async () => {
    const service = await oddService();
    const state = join(tempDirectory(), 'state.jsonl');
    const first = await machine(manifest('acme', ['Sales', 'Support']))(service, '--state', state);
    expect(first.code).toBe(0);
    const space = renameOnly(service, 'acme-old');
    const provision = machine(manifest('acme'), { clock: fastClock() });
    const ran = await provision(service, '--state', state);
    const made = service.spaces.get('acme');
    expect(made?.agents.map(({ name }) => name)).toEqual(['Triage']);
    expect(ran.json<Provisioned>().results).toMatchObject([
      {
        status: 'failed',
        space_id: `space-${made?.id}`,
        agents: [
          { agent_id: null, name: 'Sales', status: 'failed' },
          { agent_id: null, name: 'Support', status: 'failed' },
          { agent_id: `agent-${made?.agents[0]?.id}`, name: 'Triage', status: 'created' },
        ],
        error: {
          message: `The service provisioned "acme" as space-${made?.id}; until now, it was space-${space.id}.`,
          details: { space_id: `space-${made?.id}`, known_space_id: `space-${space.id}` },
        },
      },
    ]);
    expectDone(service, await provision(service, '--state', state), ['acme']);
    expect(service.posts()).toHaveLength(3);
  });
});

describe('two external_space_ids that the service takes for one space', () => {
  const fold = (id: string) => id.normalize('NFC').toLowerCase();
  const listedFolded: NonNullable<Habits['item']> = (resource, id, fields) => ({
    [`${resource}_id`]: `${resource}-${id}`,
    ...fields,
    ...('external_space_id' in fields && { external_space_id: fold(String(fields.external_space_id)) }),
  });

  it.each<[string, string, string, Habits, string]>([
    ['in another case', 'ACME', 'acme', {}, '1'],
    ['in another case, at once', 'acme', 'ACME', {}, '4'],
    ['in another Unicode form', 'caf\u00e9', 'cafe\u0301', {}, '4'],
    ['without a list', 'ACME', 'acme', { forbidden: unreadable }, '1'],
    ['without a list, at once', 'ACME', 'acme', { forbidden: unreadable }, '4'],
  ])(
    'are posted once, and the error names both documents and the space: %s',
    async (_, one, other, habits, concurrency) => {
      const service = await oddService({ fold, ...habits });
      const provision = machine(`${manifest(one)}---\n${manifest(other)}`, { clock: fastClock() });
      for (const status of ['created', 'unchanged']) {
        const ran = await provision(service, '--concurrency', concurrency);
        expect(ran.code).toBe(10);
        expect(ran.json<Provisioned>().results).toMatchObject([
          { status },
          { status: 'failed', error: { type: 'outcome_unknown', hint: expect.stringContaining('--retry-unknown') } },
        ]);
        const { message } = ran.json<Provisioned>().results[1]?.error ?? {};
        expect(message).toContain(`The space ${JSON.stringify(other)} may be the same as ${JSON.stringify(one)}`);
        expect(message).toContain('manifest.yaml:1');
        expect(service.agentNames(one)).toEqual(AGENTS);
      }
      const again = await provision(service);
      expect(again.stderr).toContain(`space-${service.spaces.get(fold(one))?.id}`);
      const plan = await provision(service, '--dry-run');
      expect(plan.json<{ spaces: unknown }>().spaces).toMatchObject([
        { blocked: [] },
        { action: 'none', blocked: [{ resource: 'space', message: expect.stringContaining(JSON.stringify(one)) }] },
      ]);
      expect(service.posts()).toHaveLength(1);
    },
  );

  it.each<[string, NonNullable<Habits['item']> | undefined]>([
    ['as it was given', undefined],
    ['in lower case', listedFolded],
  ])(
    'are not posted by a repeat if the state knows both with the same space_id, which is listed %s',
    async (_, item) => {
      const service = await oddService({ fold, ...(item && { item }) });
      const state = join(tempDirectory(), 'state.jsonl');
      const both = (agents: readonly string[]) =>
        machine(`${manifest('ACME', agents)}---\n${manifest('acme', agents)}`, { clock: fastClock() });
      expect((await both(['Sales'])(service, '--state', state, '--retry-unknown')).code).toBe(0);
      expect(service.posts()).toHaveLength(2);
      const again = await both(['Sales'])(service, '--state', state);
      expect(again.code).toBe(0);
      expect(again.json<Provisioned>().summary).toMatchObject({ unchanged: 2 });
      const more = await both(['Sales', 'Support'])(service, '--state', state);
      expect(more.code).toBe(9);
      expect(more.json<Provisioned>().results[1]?.error?.message).toMatch(
        /^The space "acme" is the same as "ACME" \(space-101, .*manifest\.yaml:1\)\./,
      );
      expect(service.posts()).toHaveLength(2);
    },
  );

  it('are not posted a second time by another machine, whatever the order of the documents', async () => {
    const service = await oddService({ fold });
    expect((await machine(manifest('ACME'))(service)).code).toBe(0);
    const blocked = await machine(manifest('acme'))(service);
    expect(blocked.code).toBe(9);
    expect(blocked.error().message).toBe('The space "acme" may be the same as "ACME" (space-101).');
    const both = await machine(`${manifest('acme')}---\n${manifest('ACME')}`)(service);
    expect(both.code).toBe(10);
    expect(both.json<Provisioned>().results).toMatchObject([
      { status: 'failed', error: { message: expect.stringMatching(/"ACME" \(space-101, .*manifest\.yaml:\d+\)/) } },
      { status: 'unchanged' },
    ]);
    expect(service.posts()).toHaveLength(1);
  });

  it('are not posted by a later run without lists if the state knows the other one', async () => {
    const service = await oddService({ fold, forbidden: unreadable });
    const state = join(tempDirectory(), 'state.jsonl');
    expect((await machine(manifest('acme'))(service, '--state', state)).code).toBe(0);
    const provision = machine(manifest('ACME'));
    const blocked = await provision(service, '--state', state);
    expect(blocked.code).toBe(9);
    const message = 'The space "ACME" may be the same as "acme" (space-101).';
    expect(blocked.json<Provisioned>().results).toMatchObject([{ status: 'failed', error: { message } }]);
    const plan = await provision(service, '--state', state, '--dry-run');
    expect(plan.json<{ spaces: unknown }>().spaces).toMatchObject([{ blocked: [{ resource: 'space' }] }]);
    expect(service.posts()).toHaveLength(1);
    expect((await provision(service, '--state', state, '--retry-unknown')).code).toBe(0);
  });

  it('are not posted again after a lost response if the list shows the other one', async () => {
    const service = await oddService({ fold, item: listedFolded, trouble: firstPost('reset after') });
    const provision = machine(manifest('ACME'), { clock: fastClock() });
    for (let run = 1; run <= 2; run += 1) {
      const ran = await provision(service);
      expect(ran.code).toBe(9);
      expect(ran.error().message).toBe('The space "ACME" may be the same as "acme" (space-101).');
    }
    expectDone(service, await machine(manifest('acme'))(service), ['acme']);
    expect(service.posts()).toHaveLength(1);
  });

  it('are two spaces with --retry-unknown if the service compares them byte for byte', async () => {
    let hiddenReads = 0;
    const service = await oddService({
      envelope: (items, resource) => {
        const isHidden = resource === 'spaces' && hiddenReads-- > 0;
        return isHidden ? items.slice(0, 1) : items;
      },
    });
    const provision = machine(`${manifest('ACME')}---\n${manifest('acme')}`, { clock: fastClock() });
    expect((await provision(service)).code).toBe(10);
    expectDone(service, await provision(service, '--retry-unknown'), ['ACME', 'acme']);
    expectDone(service, await provision(service), ['ACME', 'acme']);
    hiddenReads = 2;
    expectDone(service, await provision(service), ['ACME', 'acme']);
    expect(service.posts()).toHaveLength(2);
  });

  it('are two spaces if the service lists both, also for a machine without a state', async () => {
    const service = await oddService();
    const [ACME, acme] = [manifest('ACME'), manifest('acme', ['Sales'])];
    expectDone(service, await machine(ACME)(service), ['ACME']);
    expect((await machine(acme)(service, '--retry-unknown')).code).toBe(0);
    const both = machine(`${ACME}---\n${manifest('acme')}`, { clock: fastClock() });
    expectDone(service, await both(service), ['ACME', 'acme']);
    expect(service.posts()).toHaveLength(3);
  });
});
