import { describe, expect, it } from 'vitest';
import { type FakeService, type Handler, sendJson, startFakeService } from '../support/fake-service.ts';
import { numberIn, spaceIds, startPagedService } from '../support/paged-service.ts';
import { partnerctl, type Ran, TOKEN, tempDirectory } from '../support/run.ts';

const LIST = ['spaces', 'list', '-o', 'json', '--retries', '0'];
const PATH = '/v1/automation/spaces/';
const FIRST = [{ space_id: 's1' }];
const SECOND = [{ space_id: 's2' }];

/** Serves the page that `first` returns, then a last page. */
function twoPages(first: (server: { baseUrl: string }) => { body: unknown; link?: string }): Promise<FakeService> {
  const server = startFakeService(async (request, response) => {
    if (request.path !== PATH) return sendJson(response, { results: SECOND, next: null });
    const { body, link } = first(await server);
    return sendJson(response, body, 200, link === undefined ? {} : { link });
  });
  return server;
}

/** Serves what a function of the number of the request returns. */
const byCount =
  (page: (count: number) => unknown): Handler =>
  (_request, response, count) =>
    sendJson(response, page(count));

/** Lists the spaces of a service, of which the contract says how they are paged. */
async function listWith(baseUrl: string, next: string): Promise<Ran> {
  const env = { HOME: tempDirectory() };
  await partnerctl(baseUrl, ['contract', 'set', 'spaces.list.next', next], { env });
  return partnerctl(baseUrl, LIST, { env });
}

describe('the next page of a list', () => {
  it.each([
    [
      'a URL',
      ({ baseUrl }: { baseUrl: string }) => ({
        body: { results: FIRST, next: `${baseUrl}/automation/spaces/?page=2` },
      }),
    ],
    ['a path', () => ({ body: { results: FIRST, next: `${PATH}?page=2` } })],
    [
      'the path behind a proxy that adds the base path',
      () => ({ body: { results: FIRST, next: '/automation/spaces/?page=2' } }),
    ],
    [
      'a Link header among others',
      () => ({ body: FIRST, link: '<?page=1>; rel="prev", <?page=2>; rel=next, <?page=9>; rel="last"' }),
    ],
    ['a Link header next to a null', () => ({ body: { results: FIRST, next: null }, link: '<?page=2>; rel="next"' })],
  ] as const)('is requested by %s', async (_, first) => {
    const server = await twoPages(first);
    const ran = await partnerctl(server.baseUrl, LIST);
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
    expect(ran.json()).toEqual([...FIRST, ...SECOND]);
    expect(server.requests.map(({ path }) => path)).toEqual([PATH, `${PATH}?page=2`]);
  });

  it.each([
    ['a URL', (other: string) => ({ body: { results: FIRST, next: `${other}/automation/spaces/?page=2` } })],
    [
      'a URL without a scheme',
      (other: string) => ({ body: { results: FIRST, next: `${other.slice(5)}/automation/spaces/?page=2` } }),
    ],
    ['a Link header', (other: string) => ({ body: FIRST, link: `<${other}/automation/spaces/?page=2>; rel="next"` })],
    [
      'a URL with credentials',
      (other: string) => ({
        body: { results: FIRST, next: `${other.replace('//', '//x:y@')}/automation/spaces/?page=2` },
      }),
    ],
  ])('on another origin is requested from our own, and the token never leaves it: %s', async (_, first) => {
    const other = await startFakeService((_request, response) => sendJson(response, SECOND));
    const server = await twoPages(() => first(other.baseUrl));
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.json()).toEqual([...FIRST, ...SECOND]);
    expect(other.requests).toEqual([]);
    expect(server.requests.map(({ path }) => path)).toEqual([PATH, `${PATH}?page=2`]);
    expect(server.requests.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
  });

  it.each([
    '/admin/?page=2',
    '/v1/../admin/',
    '/v1/%2e%2e/admin/',
    '/v10/automation/spaces/',
    '//evil.test/admin/',
    'https://[bad',
    'file:///v1/automation/spaces/?page=2',
  ])('outside the base URL is refused: %s', async (next_link) => {
    const server = await twoPages(() => ({ body: { results: FIRST, next_link } }));
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ type: 'unexpected_shape', details: { leaf: 'spaces.list.next' } });
    expect(server.requests.length).toBe(1);
  });

  it.each(['page 2; rel="next"', '<?page=2; rel="next"', '<https://[bad>; rel="next"'])(
    'behind a broken Link header is refused, not the end of the list: %s',
    async (link) => {
      const server = await twoPages(() => ({ body: FIRST, link }));
      expect(await partnerctl(server.baseUrl, LIST)).toMatchObject({ code: 8, stdout: '' });
    },
  );

  it('is not looked for in a broken Link header with another relation', async () => {
    const server = await twoPages(() => ({ body: FIRST, link: '/style.css; rel=preload' }));
    expect((await partnerctl(server.baseUrl, LIST)).code).toBe(0);
  });

  it('may be empty in the middle of the list', async () => {
    const pages = [FIRST, [], SECOND];
    const server = await startFakeService(
      byCount((count) => ({ results: pages[count - 1], next: count < 3 ? `?page=${count + 1}` : null })),
    );
    expect((await partnerctl(server.baseUrl, LIST)).json()).toEqual([...FIRST, ...SECOND]);
  });

  it('that keeps failing is an error, and no partial list is printed as JSON', async () => {
    const server = await startFakeService((_request, response, count) =>
      count === 1 ? sendJson(response, { results: FIRST, next: '?page=2' }) : sendJson(response, {}, 500),
    );
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(() => JSON.parse(ran.stdout)).toThrow();
  });
});

describe('a list that cannot be read to its end', () => {
  const ITEM = { space_id: 's1' };

  it.each([
    ['links to itself', () => ({ items: [ITEM], next: PATH })],
    ['has links that repeat', (count: number) => ({ items: [{ space_id: `s${count}` }], next: `?page=${count % 3}` })],
    [
      'has a token that repeats',
      (count: number) => ({ items: [{ space_id: `s${count}` }], next_cursor: `c${count % 3}` }),
    ],
    [
      'has items that repeat',
      (count: number) => ({ items: [{ space_id: `s${count % 3}` }], next: `?page=${count + 1}` }),
    ],
    ['ignores the page', () => ({ items: [ITEM], page: 1, page_size: 1 })],
    ['says only that there is more', () => ({ items: [ITEM], isLast: false })],
    ['begins before its first page', () => ({ items: [ITEM], has_previous: true, next: '?page=2' })],
    ['states another size', () => ({ items: [ITEM], total: 5 })],
  ])('is refused with the command that settles it, and no page is requested twice: it %s', async (_, page) => {
    const server = await startFakeService(byCount(page));
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error().hint).toContain('partnerctl contract set spaces.list.next');
    const asked = server.requests.map(({ path }) => path);
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked.length).toBeLessThan(6);
  });

  it.each([
    ['fewer', 7],
    ['more', 3],
  ])('is refused after its last page if the service sends %s items than it states', async (_, total) => {
    const service = await startPagedService({
      start: (query) => numberIn(query, 'offset'),
      serve: ({ items, start }) => ({ body: { items, offset: start, total } }),
    });
    const ran = await partnerctl(service.baseUrl, LIST);
    expect(ran).toMatchObject({ code: 8, stdout: '' });
    expect(ran.error().hint).toContain('run the command again');
  });

  it('is refused if its parameter skips a page, because the count does not add up', async () => {
    const service = await startPagedService({
      start: (query) => numberIn(query, 'offset') * 2,
      serve: ({ items, start }) => ({ body: { items, offset: start / 2, total: 9 } }),
      count: 9,
    });
    expect(await partnerctl(service.baseUrl, LIST)).toMatchObject({ code: 8, stdout: '' });
  });
});

describe('a list of which the contract says how it is paged', () => {
  it('ends as the user said, whatever else the response states', async () => {
    const service = await startPagedService({
      start: (query) => (numberIn(query, 'page', 1) - 1) * 2,
      serve: ({ items }) => ({ body: { items, message_count: 40 } }),
    });
    expect((await listWith(service.baseUrl, 'page:page')).json()).toEqual(spaceIds(5));
    expect((await listWith(service.baseUrl, 'none')).json()).toEqual(spaceIds(2));
  });

  it.each(['token:next_cursor:cursor', 'token:paging.next:after', 'link:next_cursor', 'page:page'])(
    'is refused where that does not lead to the next page: %s',
    async (next) => {
      const service = await startPagedService({
        start: (query) => numberIn(query, 'after'),
        serve: ({ items, end, hasMore }) => ({ body: { items, next_cursor: hasMore ? String(end) : null } }),
      });
      const ran = await listWith(service.baseUrl, next);
      expect(ran).toMatchObject({ code: 8, stdout: '' });
      expect(ran.error().hint).toContain('partnerctl contract set spaces.list.next');
    },
  );
});
