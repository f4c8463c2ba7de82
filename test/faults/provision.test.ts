import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sendJson, startFakeService } from '../support/fake-service.ts';
import { propertyRuns } from '../support/properties.ts';
import { partnerctl } from '../support/run.ts';
import { type Habits, oddService, type Trouble } from './odd-service.ts';
import { AGENTS, expectDone, machine, manifest, type Provisioned } from './provisioning.ts';

function without(fields: object, key: string): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key));
}

/** A service that lists agents under its own names. */
const renaming: Habits = {
  item: (resource, id, fields) => ({
    [`${resource}_id`]: `${resource}-${id}`,
    ...fields,
    ...(resource === 'agent' && { name: `${Object(fields).name} agent` }),
  }),
};

const SHAPES: Record<string, Habits> = {
  'bare arrays': {},
  'the data envelope': {
    envelope: (data, _, next) => ({ data, links: { next } }),
    answer: (space, agents) => ({ data: { ...space, agents } }),
  },
  'its own name one level down': { envelope: (items, resource) => ({ data: { [resource]: items } }) },
  'numeric ids': { item: (_, id, fields) => ({ id, ...fields }), answer: (space, agents) => ({ space, agents }) },
  'everything nested': {
    item: (resource, id, fields) => ({ [resource]: { id, ...fields } }),
    answer: (space, agents) => ({ ...space, installed_agents: agents }),
  },
  'no templates in the listing': { hideTemplates: true },
  'pages of two': { pageSize: 2, envelope: (results, _, next) => ({ count: results.length, next, results }) },
  'an answer that names no agents': { answer: (space) => space },
  'an answer that names only the space_id': { answer: (space) => ({ space_id: Object(space).space_id }) },
  'an answer of unknown shape': { answer: () => ({ status: 'accepted' }) },
  'an answer that is a text': { answer: () => 'ok' },
  'an answer whose agents carry no ids': {
    answer: (space) => ({ ...space, agents: AGENTS.map((name) => ({ name })) }),
  },
};

describe('a service that responds with', () => {
  it.each(Object.entries(SHAPES))(
    '%s gets everything installed once, only what is missing, and no write from a repeat or a dry run',
    async (_, habits) => {
      const service = await oddService(habits);
      const provision = machine([manifest('acme-1'), manifest('acme-2')].join('---\n'));
      await machine(manifest('acme-1', ['Support']))(service);
      const dry = await provision(service, '--dry-run');
      expect(dry.code).toBe(0);
      expect(dry.json<{ spaces: unknown[] }>().spaces).toMatchObject([{ action: 'change' }, { action: 'create' }]);
      expect(service.posts().length).toBe(1);

      const first = await provision(service);
      expectDone(service, first, ['acme-1', 'acme-2']);
      expect(first.json<Provisioned>().summary).toMatchObject({ created: 1, reused: 1, failed: 0 });
      expect(service.posts().length).toBe(3);

      const again = await provision(service);
      expectDone(service, again, ['acme-1', 'acme-2']);
      expect(again.json<Provisioned>().summary).toMatchObject({ unchanged: 2 });
      expect(service.posts().length).toBe(3);
    },
  );
});

describe('a response that is lost after the write', () => {
  const lost: Trouble[] = ['reset after', 'cut after', '502 after', '303 after'];
  it.each(lost)('(%s) is followed by a read before anything is repeated', async (trouble) => {
    const service = await oddService({
      trouble: ({ method }, count) => (method === 'POST' && count === 1 ? trouble : undefined),
    });
    const ran = await machine(manifest('acme-1'))(service);
    expectDone(service, ran, ['acme-1']);
    expect(ran.json<Provisioned>().results[0]?.status).toBe('created');
    expect(service.posts().length).toBe(1);
  });

  it.each(lost)('(%s) and failing reads install no agent twice', async (trouble) => {
    const service = await oddService({
      trouble: ({ method }, count) => {
        if (method === 'POST') return count === 1 ? trouble : undefined;
        return count % 3 === 0 ? undefined : 503;
      },
    });
    expectDone(service, await machine(manifest('acme-1'))(service), ['acme-1']);
    expect(service.posts().length).toBe(1);
  });

  it.each<Trouble>(['reset', 503])(
    '(%s) is repeated without any flag where the lists may not be read, until everything is there',
    async (trouble) => {
      const service = await oddService({
        forbidden: ({ method }) => method === 'GET',
        trouble: ({ method }, count) => (method === 'POST' && count <= 2 ? trouble : undefined),
      });
      const ran = await machine(manifest('acme-1'))(service);
      expect(ran.code).toBe(0);
      expect(service.agentNames('acme-1')).toEqual(AGENTS);
      expect(ran.json<Provisioned>().results[0]).toMatchObject({ status: 'created' });
    },
  );

  it('from a service that acts and answers each POST with 503 is no failure where the lists can be read', async () => {
    const service = await oddService({ trouble: ({ method }) => (method === 'POST' ? '502 after' : undefined) });
    const provision = machine(manifest('acme-1'));
    expectDone(service, await provision(service), ['acme-1']);
    expect((await provision(service)).json<Provisioned>().summary).toMatchObject({ unchanged: 1 });
    expect(service.posts().length).toBe(1);
  });

  it('in the form of a redirect is final', async () => {
    const service = await oddService({ trouble: ({ method }) => (method === 'POST' ? 307 : undefined) });
    const ran = await machine(manifest('acme-1'))(service);
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('redirects to');
    expect(service.posts().length).toBe(1);
  });

  it('from a service that stays down ends with exit 8, and the next run finishes', async () => {
    let down = false;
    const service = await oddService({
      trouble: ({ method }) => {
        if (down) return 503;
        if (method !== 'POST') return undefined;
        down = true;
        return 'reset after';
      },
    });
    const provision = machine(manifest('acme-1'));
    const failed = await provision(service);
    expect(failed.code).toBe(8);
    expect(failed.json<Provisioned>().results[0]).toMatchObject({ status: 'failed' });
    down = false;
    const again = await provision(service);
    expectDone(service, again, ['acme-1']);
    expect(again.json<Provisioned>().results[0]?.status).toBe('unchanged');
    expect(service.posts().length).toBe(1);
  });

  it('property: whatever fails, no agent is installed twice, and repeated runs install all of them', async () => {
    const troubles = fc.array(
      fc.constantFrom<Trouble>(503, 429, 'reset', 'reset after', 'cut after', '502 after', '303 after', undefined),
      { minLength: 1, maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(troubles, fc.constantFrom(...Object.values(SHAPES)), async (plan, habits) => {
        let used = 0;
        const service = await oddService({
          ...habits,
          trouble: () => {
            used += 1;
            return plan[used - 1];
          },
        });
        const ids = ['acme-1', 'acme-2', 'acme-3'];
        const provision = machine(ids.map((id) => manifest(id)).join('---\n'));
        for (let round = 1; ; round += 1) {
          const ran = await provision(service);
          for (const id of ids) {
            const names = service.agentNames(id);
            expect(names).toEqual([...new Set(names)]);
          }
          if (ran.code === 0) return expectDone(service, ran, ids);
          expect([7, 8, 10]).toContain(ran.code);
          expect(round).toBeLessThan(10);
        }
      }),
      { numRuns: propertyRuns(12) },
    );
  });
});

describe('provision without a readable remote state', () => {
  it.each<[string, Habits]>([
    ['the token may not list', { forbidden: ({ method }) => method === 'GET' }],
    ['the token may not list agents', { forbidden: ({ path }) => path.includes('/agents/') }],
  ])('posts with a notice, and a repeat posts nothing: %s', async (_, habits) => {
    const service = await oddService(habits);
    // A space of another customer, so that the list is not empty.
    service.spaces.set('other', { id: 1, external_space_id: 'other', name: 'other', agents: [] });
    const provision = machine(manifest('acme-1'));
    const first = await provision(service);
    expect(first.code).toBe(0);
    expect(service.agentNames('acme-1')).toEqual(AGENTS);
    const again = await provision(service);
    expect(again.code).toBe(0);
    expect(again.stderr).toMatch(/^note: /);
    expect(service.agentNames('acme-1')).toEqual(AGENTS);
    expect(again.json<Provisioned>().results[0]).toMatchObject({ status: 'unchanged' });
  });

  it('shows one notice in a dry run, and plans from the state', async () => {
    const service = await oddService({ forbidden: ({ method }) => method === 'GET' });
    const ran = await machine(manifest('acme-1'))(service, '--dry-run');
    expect(ran.code).toBe(0);
    expect(ran.stderr.match(/^note: .*403/gm)).toHaveLength(1);
    expect(ran.json<{ spaces: unknown[] }>().spaces).toMatchObject([{ action: 'create', space_id: null }]);
    expect(service.posts()).toEqual([]);
  });
});

describe('agents that the service renames', () => {
  it('are recognized by the state file and their templates, and a repeat posts nothing', async () => {
    const service = await oddService(renaming);
    const provision = machine(manifest('acme-1'));
    expect((await provision(service)).code).toBe(0);
    const again = await provision(service);
    expect(again.code).toBe(0);
    expect(again.json<Provisioned>().results[0]?.status).toBe('unchanged');
    expect(service.posts().length).toBe(1);
  });

  it('fail a repeat with exit 8, without another POST, if the service shows no names', async () => {
    const item: Habits['item'] = (resource, id, fields) => ({
      [`${resource}_id`]: `${resource}-${id}`,
      ...without(fields, resource === 'agent' ? 'name' : ''),
    });
    const service = await oddService({ item });
    const provision = machine(manifest('acme-1'));
    expect((await provision(service)).code).toBe(0);
    const again = await provision(service);
    expect(again.code).toBe(8);
    expect(again.stderr).toContain('partnerctl contract set agent.name');
    expect(service.posts().length).toBe(1);
  });
});

describe('a list', () => {
  it('with two spaces of one external id prevents every write', async () => {
    const service = await oddService({
      envelope: (items, resource) =>
        resource === 'spaces' ? [...items, { space_id: 'twin', external_space_id: 'acme-1' }] : items,
    });
    await machine(manifest('acme-2'))(service);
    service.spaces.set('acme-1', { id: 1, external_space_id: 'acme-1', name: 'x', agents: [] });
    const ran = await machine(manifest('acme-1'))(service);
    expect(ran.code).toBe(8);
    expect(service.posts().length).toBe(1);
  });

  it('with one space on two pages counts it once', async () => {
    const service = await oddService({
      envelope: (items, resource) => (resource === 'spaces' ? [...items, ...items] : items),
    });
    const provision = machine(manifest('acme-1'));
    expectDone(service, await provision(service), ['acme-1']);
    expectDone(service, await provision(service), ['acme-1']);
  });

  it.each(['space', 'agent'] as const)(
    'without the id of the %s prevents every write, and is not reported as a bug',
    async (nameless) => {
      const item: Habits['item'] = (resource, id, fields) =>
        resource === nameless ? fields : { [`${resource}_id`]: id, ...fields };
      const service = await oddService({ item });
      service.spaces.set('acme-1', {
        id: 1,
        external_space_id: 'acme-1',
        name: 'x',
        agents: [{ id: 2, name: 'Support', template_id: 'tmpl_support' }],
      });
      for (const flags of [[], ['--dry-run']]) {
        const ran = await machine(manifest('acme-1'))(service, ...flags);
        expect(ran.code).toBe(8);
        expect(ran.stderr).not.toContain('internal');
      }
      expect(service.posts()).toEqual([]);
      const named = await partnerctl(service.baseUrl, ['agents', 'list', 'ext:acme-1', '-o', 'json']);
      expect(named.code).toBe(8);
      expect(named.error()).toMatchObject({ type: 'unexpected_shape', details: { leaf: `${nameless}.id` } });
    },
  );

  it('of an unknown shape prevents every write', async () => {
    const service = await oddService({ envelope: () => ({ customers: [] }) });
    const ran = await machine(manifest('acme-1'))(service);
    expect(ran.code).toBe(8);
    expect(service.posts()).toEqual([]);
  });

  it.each<[string, NonNullable<Habits['envelope']>]>([
    ['has_more', (items, _, next) => ({ items, has_more: next !== null })],
    ['has_more below data', (items, resource, next) => ({ data: { [resource]: items, has_more: next !== null } })],
    ['total', (items) => ({ results: items, total: 2 })],
    ['total_pages', (items) => ({ results: items, page: 1, total_pages: 2 })],
  ])('that is incomplete according to %s prevents every write', async (_, envelope) => {
    const service = await oddService({ pageSize: 1, envelope });
    service.spaces.set('a', { id: 1, external_space_id: 'a', name: 'a', agents: [] });
    service.spaces.set('acme-1', { id: 2, external_space_id: 'acme-1', name: 'x', agents: [] });
    const ran = await machine(manifest('acme-1'))(service);
    expect(ran.code).toBe(8);
    expect(service.posts()).toEqual([]);
  });
});

describe('a read that fails', () => {
  it('permanently after a lost response is not repeated: exit 8, and the outcome is unknown', async () => {
    const { baseUrl, requests } = await startFakeService(({ method }, response, count) => {
      if (method === 'POST') return response.socket?.resetAndDestroy();
      return count === 1 ? sendJson(response, []) : response.writeHead(302, { location: '/elsewhere' }).end();
    });
    const ran = await machine(manifest('a'))({ baseUrl });
    expect(ran.code).toBe(8);
    expect(ran.error().hint).toContain('may or may not have been provisioned');
    expect(requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
  });
});
