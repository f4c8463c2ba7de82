import { describe, expect, it } from 'vitest';
import { type FakeService, sendJson, startFakeService } from '../support/fake-service.ts';
import { partnerctl, TOKEN } from '../support/run.ts';

const LIST = ['spaces', 'list', '-o', 'json', '--retries', '0'];
const PATH = '/v1/automation/spaces/';
const FIRST = [{ space_id: 's1' }];
const SECOND = [{ space_id: 's2' }];

/** Serves the page that `first` returns, then a last page. */
async function twoPages(
  first: (server: { baseUrl: string }) => { body: unknown; link?: string },
): Promise<FakeService & { baseUrl: string }> {
  const server: FakeService = await startFakeService((request, response) => {
    if (request.path !== PATH) return sendJson(response, { results: SECOND, next: null });
    const { body, link } = first(server);
    return sendJson(response, body, 200, link === undefined ? {} : { link });
  });
  return server;
}

describe('a list whose first page says that something comes before it', () => {
  it.each([
    { has_previous: true },
    { pageInfo: { hasNextPage: false, hasPreviousPage: true } },
    { has_previous: true, next: '?page=2' },
  ])('is refused with the command that settles it: %j', async (more) => {
    const server = await twoPages(() => ({ body: { results: FIRST, ...more } }));
    const refused = await partnerctl(server.baseUrl, LIST);
    expect(refused).toMatchObject({ code: 8, stdout: '' });
    expect(refused.error().hint).toContain('partnerctl contract set spaces.list.next none');
  });

  it.each([{ has_previous: false }, { previous: null }, { prev_cursor: 'abc' }, { paging: { before: 's1' } }])(
    'is read otherwise: %j',
    async (more) => {
      const server = await twoPages(() => ({ body: { results: FIRST, ...more } }));
      expect(await partnerctl(server.baseUrl, LIST)).toMatchObject({ code: 0 });
    },
  );
});

describe('the pages of a list', () => {
  it.each([
    [
      'a URL',
      ({ baseUrl }: { baseUrl: string }) => ({
        body: { results: FIRST, next: `${baseUrl}/automation/spaces/?page=2` },
      }),
    ],
    ['a path', () => ({ body: { results: FIRST, next: `${PATH}?page=2` } })],
    ['a query', () => ({ body: { results: FIRST, next: '?page=2' } })],
    [
      'a Link header among others',
      () => ({ body: FIRST, link: '<?page=1>; rel="prev", <?page=2>; rel=next, <?page=9>; rel="last"' }),
    ],
    ['a Link header next to a null', () => ({ body: { results: FIRST, next: null }, link: '<?page=2>; rel="next"' })],
  ] as const)('are followed: %s', async (_, first) => {
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
  ])('on another origin are requested from our own, and the token never leaves it: %s', async (_, first) => {
    const other = await startFakeService((_request, response) => sendJson(response, SECOND));
    const server = await twoPages(() => first(other.baseUrl));
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.json()).toEqual([...FIRST, ...SECOND]);
    expect(other.requests).toEqual([]);
    expect(server.requests.map(({ path }) => path)).toEqual([PATH, `${PATH}?page=2`]);
  });

  it.each(['/admin/?page=2', '/v1/../admin/', '/v1/%2e%2e/admin/', '/v10/automation/spaces/', '//evil.test/admin/'])(
    'outside the base URL are rejected: %s',
    async (next) => {
      const server = await twoPages(() => ({ body: { results: FIRST, next } }));
      const ran = await partnerctl(server.baseUrl, LIST);
      expect(ran.code).toBe(8);
      expect(ran.error().type).toBe('unexpected_shape');
      expect(server.requests.length).toBe(1);
    },
  );

  it.each([
    ['an invalid URL', { results: FIRST, next: 'https://[bad' }],
    ['only a scheme', { results: FIRST, next: 'http://' }],
  ])('that cannot be followed are an error, not the end of the list: %s', async (_, body) => {
    const server = await twoPages(() => ({ body }));
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error()).toMatchObject({ type: 'unexpected_shape', details: { assumption: 'list.next' } });
  });

  it.each(['page 2; rel="next"', '<?page=2; rel="next"', '<https://[bad>; rel="next"'])(
    'behind a broken Link header are an error, not the end of the list: %s',
    async (link) => {
      const server = await twoPages(() => ({ body: FIRST, link }));
      const ran = await partnerctl(server.baseUrl, LIST);
      expect(ran.code).toBe(8);
      expect(ran.error().type).toBe('unexpected_shape');
    },
  );

  it('stay below a base URL with an empty segment', async () => {
    const server = await twoPages(() => ({ body: [] }));
    const ran = await partnerctl(server.baseUrl.replace('/v1', '//evil.test/v1'), LIST);
    expect(ran.json()).toEqual(SECOND);
    const odd = await startFakeService((_request, response, count) =>
      sendJson(response, { results: FIRST, next: count === 1 ? '?page=2' : null }),
    );
    await partnerctl(odd.baseUrl.replace('/v1', '//evil.test/v1'), LIST);
    expect(odd.requests.map(({ path }) => path)).toEqual([
      '//evil.test/v1/automation/spaces/',
      '//evil.test/v1/automation/spaces/?page=2',
    ]);
  });

  it('are unaffected by a broken Link header with another relation', async () => {
    const server = await twoPages(() => ({ body: FIRST, link: '/style.css; rel=preload' }));
    expect((await partnerctl(server.baseUrl, LIST)).code).toBe(0);
  });

  it.each([
    ['to itself', [PATH]],
    ['back to the first page', ['?page=2', PATH]],
    ['among later pages', ['?page=2', '?page=3', '?page=2']],
  ])('that form a cycle end with an error, and no page is requested twice: %s', async (_, links) => {
    const server = await startFakeService((_request, response, count) =>
      sendJson(response, { results: [{ space_id: `s${count}` }], next: links[count - 1] ?? '?page=99' }),
    );
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('circle');
    const asked = server.requests.map(({ path }) => path);
    expect(new Set(asked).size).toBe(asked.length);
  });

  it('are all requested with the token, and an empty page in the middle is not the end', async () => {
    const pages = [FIRST, [], SECOND];
    const server = await startFakeService((_request, response, count) =>
      sendJson(response, { results: pages[count - 1], next: count < 3 ? `?page=${count + 1}` : null }),
    );
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.json()).toEqual([...FIRST, ...SECOND]);
    expect(server.requests.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
  });

  it('end with an error, not a partial list as JSON, if one keeps failing', async () => {
    const server = await startFakeService((_request, response, count) =>
      count === 1 ? sendJson(response, { results: FIRST, next: '?page=2' }) : sendJson(response, {}, 500),
    );
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(() => JSON.parse(ran.stdout)).toThrow();
  });
});
