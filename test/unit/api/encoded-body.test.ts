import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import { json, startFakeService } from '../../support/fake-service.ts';
import { client } from './http-client.ts';

/* A proxy may compress a response although the request asks for no encoding. */

const SPACES = [{ space_id: 's1', name: 'Tägliches' }];
const TEXT = JSON.stringify(SPACES);

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

it.each([
  ['gzip', gzipSync(TEXT).subarray(0, -1)],
  ['deflate', deflateSync(TEXT).subarray(0, -1)],
  ['br', brotliCompressSync(TEXT).subarray(0, -1)],
])('a body in %s that is cut is no response, and is asked for again', async (encoding, bytes) => {
  const { http, requests } = await serve(encoding, bytes);
  const failure = { info: { status: 200, why: 'the response stopped before its end' } };
  await expect(http.call(OPERATIONS.listSpaces)).rejects.toMatchObject(failure);
  expect(requests).toHaveLength(4);
});

it('a response without a body has nothing to decode', async () => {
  const { http } = await serve('gzip', Buffer.alloc(0), 404);
  await expect(http.call(OPERATIONS.listSpaces)).rejects.toMatchObject({ info: { status: 404, why: undefined } });
});

it.each([
  ['zstd', 'the response is in the encoding zstd, which was not asked for', true, 1],
  ['gzip', 'the response is not in the encoding that it names', false, 4],
])('bytes that cannot be decoded as %s are no response', async (encoding, why, permanent, count) => {
  const { http, requests } = await serve(encoding, Buffer.from(TEXT));
  await expect(http.call(OPERATIONS.listSpaces)).rejects.toMatchObject({ info: { why, permanent } });
  expect(requests).toHaveLength(count);
});

it('a body that is larger than 64 MiB once it is decoded is refused, and not asked for again', async () => {
  const mebibyte = gzipSync(Buffer.alloc(1024 * 1024));
  const { http, requests } = await serve('gzip', Buffer.concat(Array.from({ length: 65 }, () => mebibyte)));
  const failure = { info: { why: 'the response is larger than 64 MiB', permanent: true } };
  await expect(http.call(OPERATIONS.listSpaces)).rejects.toMatchObject(failure);
  expect(requests).toHaveLength(1);
});
