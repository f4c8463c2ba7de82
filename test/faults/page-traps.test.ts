import { describe, expect, it } from 'vitest';
import { HistoryReader } from '../../src/api/history.ts';
import { itemsOf } from '../../src/api/list.ts';
import { PageReader } from '../../src/api/page-reader.ts';
import { Contract, type ContractLayers } from '../../src/contract/contract.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { type Handler, sendJson, startFakeService } from '../support/fake-service.ts';
import { numberIn, spaceIds, startPagedService } from '../support/paged-service.ts';
import { TOKEN } from '../support/run.ts';
import { client } from './http-client.ts';

interface Outcome {
  readonly ids: readonly unknown[];
  readonly error: { readonly message: string; readonly info: { readonly hint?: string } } | undefined;
}

async function readWith(baseUrl: string, layers: ContractLayers = {}, maxPages?: number): Promise<Outcome> {
  const { http } = client(baseUrl, { contract: new Contract(layers) });
  const list = { operation: OPERATIONS.listSpaces, resource: 'spaces', maxPages };
  const ids: unknown[] = [];
  try {
    for await (const page of itemsOf(new PageReader(http, list, () => ({})).read()))
      ids.push(...page.map((item) => item.space_id));
  } catch (error) {
    return { ids, error: error as Outcome['error'] };
  }
  return { ids, error: undefined };
}

const ALL = spaceIds(5).map(({ space_id }) => space_id);
const endless =
  (page: (count: number) => unknown): Handler =>
  (_request, response, count) =>
    sendJson(response, page(count));

describe('an endless list', () => {
  it.each([
    ['a new link each time', (count: number) => ({ items: [{ space_id: `s${count}` }], next: `?page=${count + 1}` })],
    ['a new token each time', (count: number) => ({ items: [{ space_id: `s${count}` }], next_cursor: `c${count}` })],
    ['page numbers', (count: number) => ({ items: [{ space_id: `s${count}` }], page: count, page_size: 1 })],
  ])('is rejected after a number of pages: %s', async (_, page) => {
    const service = await startFakeService(endless(page));
    const { error } = await readWith(service.baseUrl, {}, 30);
    expect(error?.message).toBe('The list has more than 30 pages.');
    expect(service.requests.length).toBe(31);
  });

  it('is rejected if its pages are empty', async () => {
    const service = await startFakeService(endless((count) => ({ items: [], next_cursor: `c${count}` })));
    const { error } = await readWith(service.baseUrl);
    expect(error?.message).toContain('100 pages');
  });

  it.each([
    ['a token that repeats', (count: number) => ({ items: [{ space_id: `s${count}` }], next_cursor: `c${count % 3}` })],
    ['a link that repeats', (count: number) => ({ items: [{ space_id: `s${count}` }], next: `?page=${count % 3}` })],
    ['items that repeat', (count: number) => ({ items: [{ space_id: `s${count % 3}` }], next: `?page=${count + 1}` })],
  ])('is rejected immediately: %s', async (_, page) => {
    const service = await startFakeService(endless(page));
    const { error } = await readWith(service.baseUrl);
    expect(error?.message).toMatch(/circle|repeats/);
    expect(service.requests.length).toBeLessThan(6);
  });
});

describe('a next link', () => {
  it.each([
    ['http://%/automation/spaces/?page=2', true],
    ['//%/automation/spaces/?page=2', true],
    ['http://user:pass@%/automation/spaces/?page=2', true],
    ['https://%/automation/spaces/?page=2', true],
    ['http://%/admin/?page=2', false],
    ['file:///v1/automation/spaces/?page=2', false],
    ['javascript:alert(1)', false],
  ])('never sends the token to another origin: %s', async (form, isFollowed) => {
    const other = await startFakeService(endless(() => ({ items: [] })));
    const service = await startFakeService((request, response) =>
      request.query.has('page')
        ? sendJson(response, { items: [{ space_id: 's2' }] })
        : sendJson(response, {
            items: [{ space_id: 's1' }],
            next_link: form.replace('%', `${new URL(other.baseUrl).host}/v1`).replace('/v1/admin', '/admin'),
          }),
    );
    const { ids, error } = await readWith(service.baseUrl);
    expect(other.requests).toEqual([]);
    if (isFollowed) expect(ids).toEqual(['s1', 's2']);
    else expect(error).toBeDefined();
    expect(service.requests.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
  });

  it('of an empty last page to itself ends the list', async () => {
    const service = await startPagedService({
      start: (query) => numberIn(query, 'from'),
      serve: ({ items, end }) => ({ body: { items, paging: { next: `?from=${end}`, previous: '?from=0' } } }),
    });
    expect(await readWith(service.baseUrl)).toMatchObject({ ids: ALL, error: undefined });
  });

  it('without results ends the list', async () => {
    const service = await startPagedService({
      start: (query) => numberIn(query, 'from'),
      serve: ({ items, end, hasMore }) => ({
        body: items,
        headers: { link: `<?from=${end}>; rel="next"; results="${hasMore}"` },
      }),
    });
    expect(await readWith(service.baseUrl)).toMatchObject({ ids: ALL, error: undefined });
  });
});

describe('a recorded kind of paging', () => {
  const tokens = () =>
    startPagedService({
      start: (query) => numberIn(query, 'after'),
      serve: ({ items, end, hasMore }) => ({ body: { items, next_cursor: hasMore ? String(end) : null } }),
    });

  it.each(['override', 'imported'])('is used immediately: %s', async (source) => {
    const service = await tokens();
    const outcome = await readWith(service.baseUrl, { [source]: { 'spaces.list.next': 'token:next_cursor:after' } });
    expect(outcome).toEqual({ ids: ALL, error: undefined });
    expect(service.requests.length).toBe(3);
  });

  it.each(['token:next_cursor:cursor', 'token:paging.next:after', 'link:next_cursor', 'page:page'])(
    'is rejected if the user set it and it does not work: %s',
    async (value) => {
      const service = await tokens();
      const { error } = await readWith(service.baseUrl, { override: { 'spaces.list.next': value } });
      expect(`${error?.message} ${error?.info.hint}`).toContain('spaces.list.next');
    },
  );

  it('ends the list as the user said, whatever else the response states', async () => {
    const service = await startPagedService({
      start: (query) => (numberIn(query, 'page', 1) - 1) * 2,
      serve: ({ items }) => ({ body: { items, message_count: 40 } }),
    });
    const outcome = await readWith(service.baseUrl, { override: { 'spaces.list.next': 'page:page' } });
    expect(outcome).toMatchObject({ ids: ALL, error: undefined });
  });

  it('makes the first page the complete list if it is "none"', async () => {
    const service = await tokens();
    const outcome = await readWith(service.baseUrl, { override: { 'spaces.list.next': 'none' } });
    expect(outcome).toMatchObject({ ids: ALL.slice(0, 2), error: undefined });
  });

  it('is not guessed if the list is read by POST', async () => {
    const service = await startFakeService(endless(() => ({ items: [{ space_id: 's1' }], total: 5 })));
    const { error } = await readWith(service.baseUrl, { override: { 'spaces.list': 'POST /automation/spaces/' } });
    expect(error?.message).toContain('nothing says how its next page is requested');
    expect(service.requests.length).toBe(1);
  });
});

it.each([
  [
    'messages',
    (count: number) => [{ message_id: `m${count}`, text: 'Hi', role: 'user', created_at: '2026-01-01T00:00:01Z' }],
  ],
  ['nothing', () => []],
])('a history with %s on each of its pages, which never end, ends with an error', async (_, items) => {
  const service = await startFakeService((_request, response, count) =>
    sendJson(response, { results: items(count), next: `?page=${count}` }),
  );
  const reader = new HistoryReader(client(service.baseUrl).http);
  const position = { source_id: 'src', session_id: 's', after_message_id: undefined };
  const all = async (): Promise<void> => {
    for await (const page of reader.readAfter(position, { now: Date.now, maxPages: 20, limits: () => ({}) })) void page;
  };
  await expect(all()).rejects.toThrow('The history has more than 20 pages.');
  expect(service.requests.length).toBeLessThan(30);
});
