import { describe, expect, it } from 'vitest';
import { type FakeService, type Handler, sendJson, startFakeService } from '../support/fake-service.ts';
import { partnerctl } from '../support/run.ts';

const LIST = ['spaces', 'list', '-o', 'json', '--retries', '0'];
const PATH = '/v1/automation/spaces/';
const FIRST = [{ space_id: 's1' }];
const SECOND = [{ space_id: 's2' }];

/** Serves a first page, then a last one. */
function twoPages({ body, link }: { body: unknown; link?: string }): Promise<FakeService> {
  return startFakeService((request, response) =>
    request.path === PATH
      ? sendJson(response, body, 200, link === undefined ? {} : { link })
      : sendJson(response, { results: SECOND, next: null }),
  );
}

/** Serves what a function of the number of the request returns. */
const byCount =
  (page: (count: number) => unknown): Handler =>
  (_request, response, count) =>
    sendJson(response, page(count));

describe('the next page of a list', () => {
  it.each([
    ['a path', { body: { results: FIRST, next: `${PATH}?page=2` } }],
    ['a Link header', { body: FIRST, link: '<?page=1>; rel="prev", <?page=2>; rel=next, <?page=9>; rel="last"' }],
  ])('is requested by %s', async (_, first) => {
    const server = await twoPages(first);
    const ran = await partnerctl(server.baseUrl, LIST);
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
    expect(ran.json()).toEqual([...FIRST, ...SECOND]);
    expect(server.requests.map(({ path }) => path)).toEqual([PATH, `${PATH}?page=2`]);
  });

  it.each([
    { body: { results: FIRST, next: '/v1/%2e%2e/admin/' } },
    { body: { results: FIRST, next_link: 'file:///v1/automation/spaces/?page=2' } },
    { body: FIRST, link: '<?page=2; rel="next"' },
  ])('that is not below the base URL, or cannot be read, is refused: %j', async (first) => {
    const server = await twoPages(first);
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran).toMatchObject({ code: 8, stdout: '' });
    expect(ran.error()).toMatchObject({ type: 'unexpected_shape', details: { leaf: 'spaces.list.next' } });
    expect(server.requests.length).toBe(1);
  });

  it('may be empty in the middle of the list, and repeat what shifted from the page before', async () => {
    const pages = [FIRST, [], SECOND, [...SECOND, { space_id: 's3' }]];
    const server = await startFakeService(
      byCount((count) => ({ results: pages[count - 1], next: count < 4 ? `?page=${count + 1}` : null })),
    );
    expect((await partnerctl(server.baseUrl, LIST)).json()).toEqual([...FIRST, ...SECOND, { space_id: 's3' }]);
  });
});

describe('a list that cannot be read to its end', () => {
  it.each([
    ['begins again', (count: number) => ({ items: [{ space_id: `s${count % 3}` }], next: `?page=${count + 1}` })],
  ])('is refused with the command that settles it: it %s', async (_, page) => {
    const server = await startFakeService(byCount(page));
    const ran = await partnerctl(server.baseUrl, LIST);
    expect(ran.code).toBe(8);
    expect(ran.error().hint).toContain('partnerctl contract set spaces.list.next');
    expect(server.requests.length).toBeLessThan(6);
  });

  it('is refused after its last page if the service states another number of items than it sends', async () => {
    const all = [1, 2, 3, 4, 5].map((id) => ({ space_id: `s${id}` }));
    const service = await startFakeService(({ query }, response) => {
      const offset = Number(query.get('offset') ?? 0);
      sendJson(response, { items: all.slice(offset, offset + 2), offset, total: 7 });
    });
    const ran = await partnerctl(service.baseUrl, LIST);
    expect(ran).toMatchObject({ code: 8, stdout: '' });
    expect(ran.error().hint).toContain('run the command again');
  });
});
