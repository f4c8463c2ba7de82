import { describe, expect, test } from 'vitest';
import { call, PROVISION, provisionBody, SPACES, startTestSandbox } from '../support/sandbox-client.ts';

/** A sandbox in a shape that has three spaces, and a caller for it. */
async function startWithSpaces(shape: string) {
  const opened = await startTestSandbox({ shape });
  const { sandbox, token, admin, partner } = opened;
  await admin('POST', '/spaces', { count: 3, prefix: 'acme' });
  const [first, second] = (await partner('GET', SPACES)).json.results.map(
    ({ space_id }: { space_id: string }) => space_id,
  );
  const origin = new URL(sandbox.baseUrl).origin;
  const send = (method: string, path: string, body?: unknown) =>
    call(method, `${sandbox.baseUrl}${path}`, { token, body });
  return { ...opened, send, first, second, origin, path: `/v1${SPACES}` };
}

describe('a page of a list', () => {
  test('in camelCase has a token', async () => {
    const { send, first } = await startWithSpaces('camel');
    const { json } = await send('GET', SPACES);
    expect(json.data).toHaveLength(2);
    expect(json.data[0]).toMatchObject({ spaceId: first, externalSpaceId: 'acme-1', name: 'acme 1', isOrgWide: false });
    const last = await send('GET', `${SPACES}?pageToken=${json.nextPageToken}`);
    expect([last.json.data.length, 'nextPageToken' in last.json]).toEqual([1, false]);
  });

  test('of JSON:API has attributes and links', async () => {
    const { send, first, origin, path } = await startWithSpaces('json-api');
    const { json } = await send('GET', SPACES);
    const next = `${origin}${path}?page%5Bsize%5D=2&page%5Bnumber%5D=2`;
    expect(json).toMatchObject({ links: { next }, meta: { 'total-pages': 2 } });
    expect(json.data[0]).toMatchObject({ type: 'spaces', id: first, attributes: { 'external-space-id': 'acme-1' } });
  });

  test('of HAL has embedded items, and no next link at the end', async () => {
    const { send, first, origin, path } = await startWithSpaces('hal');
    const { json } = await send('GET', SPACES);
    expect(json._links.next).toEqual({ href: `${origin}${path}?size=2&page=2` });
    expect(json._embedded.spaces[0]._links.self).toEqual({ href: `/v1/automation/spaces/${first}` });
    expect((await send('GET', `${SPACES}?page=2`)).json._links).toEqual({
      self: { href: `${origin}${path}?page=2` },
    });
  });

  test('of nodes has a cursor', async () => {
    const { send, second } = await startWithSpaces('relay');
    const { edges, pageInfo } = (await send('GET', SPACES)).json.data.spaces;
    expect(edges[1]).toMatchObject({ cursor: expect.any(String), node: { id: second, name: 'acme 2' } });
    expect(pageInfo).toEqual({ hasNextPage: true, endCursor: second });
  });

  test('is an array with a Link header', async () => {
    const { send, origin, path } = await startWithSpaces('link-header');
    const { json, headers } = await send('GET', `${SPACES}?page=2`);
    expect([json.length, headers.get('link')]).toEqual([
      1,
      `<${origin}${path}?page=2>; rel="self", <${origin}${path}?page=1&per_page=2>; rel="prev"`,
    ]);
  });

  test('has status 206 and a Content-Range if it is a part, and 200 if it is the complete list', async () => {
    const { send } = await startWithSpaces('content-range');
    const part = await send('GET', SPACES);
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'items 0-1/3']);
    const whole = await send('GET', `${SPACES}?limit=3`);
    expect([whole.status, whole.headers.get('content-range')]).toEqual([200, 'items 0-2/3']);
  });

  test('of Spring is numbered from 0', async () => {
    const { send } = await startWithSpaces('spring');
    expect((await send('GET', SPACES)).json).toMatchObject({ number: 0, totalPages: 2, totalElements: 3, last: false });
    expect((await send('GET', `${SPACES}?page=1`)).json).toMatchObject({ number: 1, last: true, numberOfElements: 1 });
  });

  test('only has has_more, and the next one starts after an id', async () => {
    const { send, second } = await startWithSpaces('starting-after');
    expect((await send('GET', SPACES)).json.has_more).toBe(true);
    const { json } = await send('GET', `${SPACES}?starting_after=${second}`);
    expect(json).toMatchObject({ has_more: false, data: [{ external_space_id: 'acme-3' }] });
  });

  test('is null when it is empty', async () => {
    const { send } = await startWithSpaces('no-history-yet');
    expect((await send('GET', '/automation/documents/')).json).toEqual({ data: null });
  });
});

describe('a URL with a trailing slash', () => {
  test.each([
    ['drop-slash-301', 301],
    ['drop-slash-307', 307],
    ['drop-slash-308', 308],
  ])('is redirected by %s for every method, before anything happens', async (shape, status) => {
    const { send, origin, partner } = await startWithSpaces(shape);
    const read = await send('GET', `${SPACES}?limit=1`);
    const location = new URL(read.headers.get('location') ?? '', origin).href;
    expect([read.status, location]).toEqual([status, `${origin}/v1/automation/spaces?limit=1`]);
    expect((await send('POST', PROVISION, provisionBody('new'))).status).toBe(status);
    expect((await partner('GET', SPACES)).json.results).toHaveLength(3);
    expect((await send('POST', PROVISION.replace(/\/$/, ''), provisionBody('new'))).status).toBe(201);
  });

  test('is the redirect target of the links in the pages of add-slash', async () => {
    const { send, origin } = await startWithSpaces('add-slash');
    const { next } = (await send('GET', SPACES)).json;
    expect(next).toMatch(`${origin}/v1/automation/spaces?`);
    const { status, headers } = await call('GET', next);
    expect([status, headers.get('location')]).toEqual([301, next.replace('spaces?', 'spaces/?')]);
  });
});

describe('a request', () => {
  test('with names that the shape does not have is rejected by the names that were sent', async () => {
    const { send, partner } = await startWithSpaces('camel-requests');
    const { status, text } = await send('POST', PROVISION, provisionBody('new'));
    expect(status).toBe(422);
    expect(JSON.parse(text).errors).toContainEqual({ pointer: 'external_space_id', detail: 'is not a known field' });
    expect((await partner('GET', SPACES)).json.results).toHaveLength(3);
  });

  test('with an invalid value is rejected by the names of the shape', async () => {
    const { send } = await startWithSpaces('camel-requests');
    const { text } = await send('POST', PROVISION, { externalSpaceId: '', space: {}, agents: [{ name: 'x' }] });
    expect(JSON.parse(text).errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      'externalSpaceId',
      'space.name',
      'agents[0].templateId',
    ]);
  });

  test('for the history with another method is 405', async () => {
    const { send } = await startWithSpaces('history-by-post');
    const { status, headers } = await send('GET', '/integrations/api-chat/history/?source_id=a&session_id=b');
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('gets a Location that names the new resource', async () => {
    const { send, partner } = await startWithSpaces('location');
    const { status, text, headers } = await send('POST', PROVISION, provisionBody('new'));
    const { space_id } = (await partner('GET', SPACES)).json.results.at(-1);
    expect([status, text, headers.get('location')]).toEqual([201, '', `/v1/automation/spaces/${space_id}/`]);
  });
});

test('an error has the status 200 if the shape says so, but not for a missing token', async () => {
  const { sandbox, send } = await startWithSpaces('relay');
  const missing = await send('GET', `${SPACES}spc_none/agents/`);
  expect([missing.status, missing.json.errors[0].extensions.code]).toEqual([200, 'SPACE_NOT_FOUND']);
  const refused = await call('GET', `${sandbox.baseUrl}${SPACES}`);
  expect([refused.status, refused.json.errors[0].extensions.code]).toEqual([401, 'NOT_AUTHENTICATED']);
});

test('an injected error has the format of the shape', async () => {
  const { send, admin } = await startWithSpaces('uuid');
  await admin('PUT', '/faults', { rules: [{ kind: 'status', status: 503 }] });
  const { status, json } = await send('GET', SPACES);
  expect([status, json.fault.detail.errorcode]).toEqual([503, 'service_unavailable']);
});

test('the request log shows requests as they were sent', async () => {
  const { send, admin } = await startWithSpaces('history-by-post');
  await admin('DELETE', '/requests');
  const body = { source_id: 'src_none', session_id: 's1' };
  await send('POST', '/integrations/api-chat/history/', body);
  const { requests } = (await admin('GET', '/requests')).json;
  const path = '/v1/integrations/api-chat/history/';
  expect(requests).toMatchObject([{ method: 'POST', path, query: '', status: 404, body }]);
});
