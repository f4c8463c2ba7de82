import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { json, startFakeService } from '../../support/fake-service.ts';
import { client } from './http-client.ts';

/* A proxy may compress a response although the request asks for no encoding. */

const SPACES = [{ space_id: 's1', name: 'Tägliches' }];
const TEXT = JSON.stringify(SPACES);
const READ = {
  name: 'GET /spaces/',
  safety: 'safe',
  request: { method: 'GET', path: '/v1/spaces/', headers: {} },
} as const;

/** A service that sends these bytes in an encoding. */
async function serve(encoding: string, bytes: Uint8Array, status = 200) {
  const { baseUrl, requests } = await startFakeService((_, response) =>
    response.writeHead(status, { 'content-encoding': encoding }).end(bytes),
  );
  return { ...client(baseUrl), requests };
}

it('a request asks for no encoding', async () => {
  const { baseUrl, requests } = await startFakeService(json([]));
  await client(baseUrl).http.call(OPERATIONS.listSpaces);
  expect(requests[0]?.headers['accept-encoding']).toBe('identity');
});

it.each([
  ['identity', Buffer.from(TEXT)],
  ['UTF-8', Buffer.from(TEXT)],
  ['gzip', gzipSync(TEXT)],
  ['X-GZip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
])('a body in %s is decoded', async (encoding, bytes) => {
  const { http, requests } = await serve(encoding, bytes);
  const response = await http.call(OPERATIONS.listSpaces);
  expect(response.json()).toEqual(SPACES);
  expect(Buffer.from(response.bytes).toString()).toBe(TEXT);
  expect(requests).toHaveLength(1);
});

it('an error in gzip is read', async () => {
  const { http } = await serve('gzip', gzipSync('{"message":"No such space."}'), 404);
  await expect(http.call(OPERATIONS.listSpaces)).rejects.toMatchObject({ info: { why: 'No such space.' } });
});

it.each([
  ['gzip', gzipSync(TEXT).subarray(0, -1)],
  ['gzip', gzipSync(TEXT).subarray(0, 12)],
  ['deflate', deflateSync(TEXT).subarray(0, -1)],
  ['br', brotliCompressSync(TEXT).subarray(0, -1)],
])('a body in %s that is cut is no response, and is asked for again', async (encoding, bytes) => {
  const { http, requests } = await serve(encoding, bytes);
  const failure = { info: { status: 200, why: 'the response stopped before its end' } };
  await expect(http.call(OPERATIONS.listSpaces)).rejects.toMatchObject(failure);
  expect(requests).toHaveLength(4);
});

it.each([
  ['HEAD', 200, {}],
  ['GET', 204, {}],
  ['GET', 200, { 'content-length': '0' }],
] as const)('a response without a body has nothing to decode: %s, %i, %j', async (method, status, headers) => {
  const { baseUrl } = await startFakeService((_, response) =>
    response.writeHead(status, { ...headers, 'content-encoding': 'gzip' }).end(),
  );
  const response = await client(baseUrl).http.call({ ...READ, request: { ...READ.request, method } });
  expect(response.body).toBe('');
});

it('an encoding that nobody asked for, and that is unknown, is named, and not asked for again', async () => {
  const { http, requests } = await serve('zstd', Buffer.from('x'));
  const why = 'the response is in the encoding zstd, which was not asked for';
  await expect(http.call(OPERATIONS.listSpaces)).rejects.toMatchObject({ info: { why, permanent: true } });
  expect(requests).toHaveLength(1);
});

it('bytes that are not in the encoding that the response names are no response', async () => {
  const { http } = await serve('gzip', Buffer.from(TEXT));
  const why = 'the response is not in the encoding that it names';
  await expect(http.call(OPERATIONS.listSpaces)).rejects.toMatchObject({ info: { why } });
});

it.each([
  ['gzip', gzipSync(Buffer.alloc(65 * 1024 * 1024))],
  ['br', brotliCompressSync(Buffer.alloc(65 * 1024 * 1024))],
])(
  'a body in %s that is larger than 64 MiB once it is decoded is refused, and not asked for again',
  async (encoding, bytes) => {
    const { http, requests } = await serve(encoding, bytes);
    const failure = { info: { why: 'the response is larger than 64 MiB', permanent: true } };
    await expect(http.call(OPERATIONS.listSpaces)).rejects.toMatchObject(failure);
    expect(requests).toHaveLength(1);
  },
);
