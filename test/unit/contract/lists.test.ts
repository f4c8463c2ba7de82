import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnknownShape } from '../../../src/contract/assumptions.ts';
import { readList, readStatedExtent } from '../../../src/contract/lists.ts';

const ITEMS = [{ space_id: 'a' }, { space_id: 'b' }];

describe('the envelope of a list', () => {
  it.each([
    ['a bare array', ITEMS],
    ['results', { results: ITEMS, count: 2 }],
    ['data', { data: ITEMS }],
    ['items', { items: ITEMS }],
    ['its own name', { spaces: ITEMS }],
    ['data.spaces', { data: { spaces: ITEMS } }],
    ['data.items', { data: { items: ITEMS } }],
    ['PascalCase', { Spaces: ITEMS }],
    ['OData', { '@odata.context': '$metadata#spaces', value: ITEMS }],
    ['content', { content: ITEMS, totalElements: 2 }],
    ['an embedded list', { _embedded: { spaces: ITEMS }, _links: { self: { href: '/' } } }],
    ['an embedded list of another name', { _embedded: { spaceResponseList: ITEMS }, _links: {}, page: { number: 0 } }],
    ['an object with numbers as keys', { data: { 0: ITEMS[0], 2: ITEMS[1] } }],
    ['an object by id', { spaces: { a: ITEMS[0], b: ITEMS[1] }, next: null }],
    ['an object by id without an envelope', { a: ITEMS[0], b: ITEMS[1] }],
    ['edges with nodes', { data: { spaces: { edges: ITEMS.map((node) => ({ node, cursor: node.space_id })) } } }],
    ['edges next to nodes', { spaces: { nodes: ITEMS, edges: ITEMS.map((node) => ({ node })) } }],
    ['XML turned into JSON', { spaces: { '@page': '1', space: ITEMS } }],
    ['GeoJSON, next to another array', { fields: [{ name: 'id' }], features: ITEMS }],
    ['two levels down', { response: { result: { spaces: ITEMS } } }],
    ['its own name next to another list', { data: [{ id: 1 }], spaces: ITEMS }],
    ['a list below an empty one', { items: [], data: { spaces: ITEMS } }],
    ['a list next to included objects', { data: ITEMS, included: [{ id: 1 }] }],
    ['spaces.results', { spaces: { results: ITEMS } }],
    ['the one array in an envelope', { Response: { TotalCount: 2, SpaceSet: ITEMS, RequestId: 'r' } }],
    ['the one array two levels down', { Success: true, Data: { TotalCount: 2, List: { Entry: ITEMS } } }],
    ['in an envelope of any name that has all', { ocs: { meta: { status: 'ok' }, data: ITEMS } }],
    ['the one key with an array of objects', { workspaces: ITEMS, tags: ['x'], total: 2 }],
  ])('is recognized: %s', (_, body) => {
    expect(readList(body, 'spaces')).toEqual(ITEMS);
  });

  it.each([
    ['a bare array', []],
    ['results', { results: [] }],
    ['its own name', { spaces: [] }],
    ['one level down', { data: { spaces: [] } }],
    ['null under its own name', { spaces: null }],
    ['no embedded list where there are 0 in all', { _links: { self: { href: '/' } }, page: { totalElements: 0 } }],
    ['an unknown name next to a total of 0', { Response: { TotalCount: 0, SpaceSet: [], RequestId: 'r' } }],
    ['null in an envelope', { data: { items: null, total: 0 } }],
  ])('may be empty: %s', (_, body) => {
    expect(readList(body, 'spaces')).toEqual([]);
  });

  it.each([
    ['a text', 'spaces'],
    ['a number', 4],
    ['an empty object', {}],
    ['an error', { error: { message: 'no' } }],
    ['errors in an answer that claims success', { errors: [{ message: 'no' }] }],
    ['an unknown name with nothing in it', { customers: [] }],
    ['an unknown name next to another total', { TotalCount: 3, SpaceSet: [] }],
    ['two candidates', { mine: ITEMS, theirs: ITEMS }],
    ['two lists under general names', { items: ITEMS, records: [{ id: 1 }] }],
    ['the list of another resource', { agents: ITEMS }],
    ['null under an unknown name', { customers: null }],
    ['links and a page without a total of 0', { _links: {}, page: { totalElements: 2 } }],
    ['a total of 0 next to a possible list', { _links: {}, total: 0, mine: { a: {} } }],
    ['two embedded lists', { _embedded: { mine: ITEMS, theirs: ITEMS } }],
    ['a map by id', { spaces: { a: {}, b: {} } }],
    ['an array of texts', ['a', 'b']],
    ['an array of arrays', [[{ space_id: 'a' }]]],
    ['an array with a hole', { results: [{ space_id: 'a' }, null] }],
  ])('is rejected with a description of the body: %s', (_, body) => {
    expect(() => readList(body, 'spaces')).toThrow(expect.objectContaining({ seen: expect.stringMatching(/./) }));
  });

  it('is not described as one of its items', () => {
    const error = expect.objectContaining({ seen: 'a list with the string "a"' });
    expect(() => readList(['a', 'b'], 'spaces')).toThrow(error);
  });

  it.each([
    ['spaces', { spaces: { a: { name: 'Acme' }, b: { name: 'Globex' } }, last: { id: 'b' } }],
    ['data', { data: { a: { name: 'Acme' } } }],
    ['$', { a: { name: 'Acme' }, b: { space_id: 'b' } }],
  ])('is rejected without a command if its items have their ids only as keys: %s', (place, body) => {
    const message = expect.stringContaining(`the object at ${place}, with ids as keys`);
    expect(() => readList(body, 'spaces')).toThrow(expect.objectContaining({ message, fix: undefined }));
  });

  it('may contain a single item without a list, as in XML converted to JSON', () => {
    expect(readList({ spaces: { space: { space_id: 'a' } } }, 'spaces')).toEqual([{ space_id: 'a' }]);
  });

  it('is recognized next to an error that reports success', () => {
    expect(readList({ data: { spaces: ITEMS }, error: { code: 'ok', message: '', log_id: 'l1' } }, 'spaces')).toEqual(
      ITEMS,
    );
    expect(() => readList({ spaces: [], error: { code: 0, message: 'Token expired.' } }, 'spaces')).toThrow('error');
  });

  it('is rejected with the command that names the list that was received', () => {
    const read = () => readList({ payload: { customers: [], owners: ITEMS } }, 'spaces');
    expect(read).toThrow(expect.objectContaining({ fix: { leaf: 'spaces.list.items', value: 'payload.owners' } }));
  });

  it('is rejected with a command after which an empty object is an empty list', () => {
    const fix = { leaf: 'spaces.list.items', value: 'spaces' };
    expect(() => readList({}, 'spaces')).toThrow(expect.objectContaining({ fix }));
    expect(readList({}, 'spaces', { path: ['spaces'], isSet: true })).toEqual([]);
  });

  describe('with a list of the same kind next to it', () => {
    const job = (id: string) => ({ cron_job_id: id, agent_id: 'a1', name: id, schedule: {} });
    const jobs = [job('c1'), job('c2')];
    const paused = [{ ...job('c3'), paused_at: '2026-01-01', reason: 'Balance' }];

    it.each([
      [{ cron_jobs: jobs, disabled_cron_jobs: [{ cron_job_id: 'c3', name: 'Old' }] }],
      [{ jobs, paused }],
      [{ jobs: [], paused }],
      [{ jobs: null, paused }],
      [{ data: [], archived: paused }],
      [{ data: { jobs, paused } }],
      [{ jobs, more: { paused } }],
      [{ jobs: { c1: job('c1') }, paused: { c3: job('c3') } }],
      [{ jobs: {}, paused: { c3: job('c3') } }],
      [{ cron_jobs: { own: jobs, shared: paused } }],
    ])('is rejected, and no place is proposed: %j', (body) => {
      const fix = expect.objectContaining({ leaf: 'cron_jobs.list.items', value: '<path>' });
      expect(() => readList(body, 'cron_jobs')).toThrow(expect.objectContaining({ fix }));
    });

    it('is rejected where a document says that the list is, but not where the user does', () => {
      const body = { jobs, paused };
      expect(() => readList(body, 'cron_jobs', { path: ['jobs'], isSet: false })).toThrow(
        'several places: jobs, paused',
      );
      expect(readList(body, 'cron_jobs', { path: ['jobs'], isSet: true })).toEqual(jobs);
    });

    it.each([
      ['included objects', { jobs, included: paused }],
      ['errors with ids', { jobs, errors: [], warnings: paused }],
      ['their agents', { jobs, agents: [{ agent_id: 'a1', name: 'Support', template_id: 't1' }] }],
      ['their owners', { jobs, users: [{ id: 'u1', name: 'Ann' }] }],
      ['their runs', { jobs, runs: [{ id: 'r1', cron_job_id: 'c1', agent_id: 'a1', status: 'done', started_at: '' }] }],
      ['objects without ids', { jobs, schedule_types: [{ type: 'cron', schedule: 'five fields' }] }],
      ['some of them again', { jobs, active_jobs: jobs.slice(1) }],
      ['columns', { data: jobs, columns: [{ id: 'name', title: 'Name' }] }],
    ])('is read, if that holds other objects: %s', (_, body) => {
      expect(readList(body, 'cron_jobs')).toEqual(jobs);
    });
  });

  it('is empty if it is null, as Go encodes it', () => {
    expect(readList(null, 'spaces')).toEqual([]);
    expect(readList(null, 'spaces', { path: [], isSet: true })).toEqual([]);
    expect(() => readList(null, 'spaces', { path: ['data'], isSet: true })).toThrow(UnknownShape);
  });

  it.each([
    ['$', ITEMS, []],
    ['data.rows', { data: { rows: ITEMS }, items: [] }, ['data', 'rows']],
    ['a key with a dot', { 'v1.spaces': ITEMS }, ['v1', 'spaces']],
  ])('is read where the contract says: %s', (_, body, path) => {
    expect(readList(body, 'spaces', { path, isSet: true })).toEqual(ITEMS);
  });

  it('is rejected if the contract names another place, even if a list was received', () => {
    expect(() => readList({ items: ITEMS }, 'spaces', { path: ['data', 'rows'], isSet: true })).toThrow(UnknownShape);
    expect(() => readList({ items: ITEMS }, 'spaces', { path: [], isSet: true })).toThrow(UnknownShape);
  });

  it('property: yields an empty list only for an empty array or null in a known place', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        let items: readonly unknown[];
        try {
          items = readList(body, 'spaces');
        } catch (error) {
          expect(error).toBeInstanceOf(UnknownShape);
          return;
        }
        if (items.length > 0 || Array.isArray(body) || body === null) return;
        expect(JSON.stringify(body)).toMatch(/":\[\]|":null/);
      }),
    );
  });

  it('property: yields every item in order, whatever the envelope', () => {
    const items = fc.array(fc.record({ space_id: fc.string() }, { noNullPrototype: true }), { minLength: 1 });
    const wrap = fc.constantFrom(
      (list: unknown) => list,
      (list: unknown) => ({ results: list, next: null }),
      (list: unknown) => ({ data: { spaces: list } }),
      (list: unknown) => ({ anything: list, count: 1 }),
    );
    fc.assert(
      fc.property(items, wrap, (list, wrapped) => {
        expect(readList(wrapped(list), 'spaces')).toEqual(list);
      }),
    );
  });
});

describe('the stated total of a list', () => {
  it.each([
    [[], { ends: false }],
    [{ results: [] }, { ends: false }],
    [{ results: [], next: null }, { ends: true }],
    [{ results: [], links: { next: {} } }, { ends: true }],
    [{ results: [], next: '/v1/x' }, { ends: false }],
    [
      { results: [], meta: { has_more: false, total: 7 } },
      { ends: true, total: 7, totalPath: 'meta.total' },
    ],
    [
      { results: [], count: 0 },
      { ends: false, total: 0, totalPath: 'count' },
    ],
    [
      { results: [], total: '7' },
      { ends: false, total: 7, totalPath: 'total' },
    ],
    [{ results: [], total: 'many' }, { ends: false }],
  ])('%j: %j', (body, extent) => {
    expect(readStatedExtent(body)).toEqual(extent);
  });
});
