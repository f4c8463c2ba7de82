import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as body from '../../../src/contract/body.ts';
import { UnknownShape } from '../../../src/contract/unknown-shape.ts';

const LEAVES = { spaces: 'spaces.list', cron_jobs: 'cron_jobs.list', messages: 'messages.history' } as const;

const readList = (value: unknown, resource: keyof typeof LEAVES, place?: readonly string[]) =>
  body.readList(value, LEAVES[resource], place);

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
    ['edges with nodes', { data: { spaces: { edges: ITEMS.map((node) => ({ node, cursor: node.space_id })) } } }],
    ['XML turned into JSON', { spaces: { '@page': '1', space: ITEMS } }],
    ['GeoJSON, next to another array', { fields: [{ name: 'id' }], features: ITEMS }],
    ['two levels down', { response: { result: { spaces: ITEMS } } }],
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

  it('is rejected with the command that names an object with ids as keys, which is then the list of its values', () => {
    const body = { spaces: { a: ITEMS[0], b: ITEMS[1] }, next: null };
    expect(() => readList(body, 'spaces')).toThrow(
      expect.objectContaining({ fix: { leaf: 'spaces.list.items', value: '<path>' } }),
    );
    expect(readList(body, 'spaces', ['spaces'])).toEqual(ITEMS);
  });

  it('is recognized next to an error that reports success', () => {
    expect(readList({ data: { spaces: ITEMS }, error: { code: 'ok', message: '', log_id: 'l1' } }, 'spaces')).toEqual(
      ITEMS,
    );
    expect(() => readList({ spaces: [], error: { code: 0, message: 'Token expired.' } }, 'spaces')).toThrow('error');
  });

  it('is rejected with a command after which an empty object is an empty list', () => {
    const fix = { leaf: 'spaces.list.items', value: 'spaces' };
    expect(() => readList({}, 'spaces')).toThrow(expect.objectContaining({ fix }));
    expect(readList({}, 'spaces', ['spaces'])).toEqual([]);
  });

  describe('with a second one next to it', () => {
    const jobs = [{ cron_job_id: 'c1' }, { cron_job_id: 'c2' }];
    const paused = [{ cron_job_id: 'c3' }];

    it.each([
      [{ cron_jobs: jobs, disabled_cron_jobs: paused }, 'cron_jobs'],
      [{ jobs, paused }, 'jobs'],
      [{ paused, jobs: [] }, 'jobs'],
      [{ jobs: null, paused }, 'jobs'],
      [{ data: [], archived: paused }, 'data'],
      [{ data: { jobs, paused } }, 'data.jobs'],
      [{ jobs, more: { paused } }, 'jobs'],
      [{ cron_jobs: { own: jobs, shared: paused } }, 'cron_jobs.own'],
      [{ owners: paused, data: jobs }, 'data'],
      [{ jobs, agents: [{ agent_id: 'a1' }] }, 'jobs'],
      [{ nodes: jobs, edges: jobs.map((node) => ({ node })) }, 'nodes'],
    ])('is rejected with the names of both and the command: %j', (body, value) => {
      const fix = expect.objectContaining({ leaf: 'cron_jobs.list.items', value });
      const read = () => readList(body, 'cron_jobs');
      expect(read).toThrow(expect.objectContaining({ fix, message: expect.stringContaining('several places: ') }));
      expect(readList(body, 'cron_jobs', value.split('.'))).toBeInstanceOf(Array);
    });

    it.each([
      ['included objects', { jobs, included: paused }],
      ['errors and warnings', { jobs, errors: [], warnings: paused }],
      ['columns', { data: jobs, columns: [{ id: 'name', title: 'Name' }] }],
      ['links', { jobs, links: [{ rel: 'self', href: '/' }] }],
      ['texts', { jobs, values: ['a', 'b'] }],
      ['nothing under a customary name', { jobs, data: null }],
    ])('is read, if that holds %s', (_, body) => {
      expect(readList(body, 'cron_jobs')).toEqual(jobs);
    });
  });

  it('is empty if it is null, as Go encodes it', () => {
    expect(readList(null, 'spaces')).toEqual([]);
    expect(readList(null, 'spaces', [])).toEqual([]);
    expect(() => readList(null, 'spaces', ['data'])).toThrow(UnknownShape);
  });

  it.each([
    ['$', ITEMS, []],
    ['data.rows', { data: { rows: ITEMS }, items: [] }, ['data', 'rows']],
    ['a key with a dot', { 'v1.spaces': ITEMS }, ['v1', 'spaces']],
  ])('is read where the contract says: %s', (_, body, path) => {
    expect(readList(body, 'spaces', path)).toEqual(ITEMS);
  });

  it('is rejected if the contract names another place, even if a list was received', () => {
    expect(() => readList({ items: ITEMS }, 'spaces', ['data', 'rows'])).toThrow(UnknownShape);
    expect(() => readList({ items: ITEMS }, 'spaces', [])).toThrow(UnknownShape);
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

describe('the envelope of a history', () => {
  const entries = [{ message_id: 'm1' }];

  it.each([
    ['a bare list', entries],
    ['results', { count: 1, next: null, results: entries }],
    ['messages', { messages: entries, session_id: 's' }],
    ['history', { history: entries }],
    ['history with messages', { history: { messages: entries } }],
    ['one level down', { data: { messages: entries } }],
  ])('is recognized: %s', (_, body) => {
    expect(readList(body, 'messages')).toEqual(entries);
  });

  it('is rejected if another list holds messages, too', () => {
    const body = { messages: entries, replies: [{ message_id: 'm2' }] };
    expect(() => readList(body, 'messages')).toThrow('in several places: messages, replies.');
    expect(() => readList({ ...body, messages: [] }, 'messages')).toThrow(UnknownShape);
    expect(readList(body, 'messages', ['messages'])).toEqual(entries);
  });
});
