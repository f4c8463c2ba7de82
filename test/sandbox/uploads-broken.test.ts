import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { FaultPlan } from '../../src/sandbox/sandbox.ts';
import { temporaryDirectory } from './child-process.ts';
import { startTestSandbox, type TestSandbox } from './client.ts';
import {
  ATTACHMENTS,
  DOCUMENTS,
  FORM_END,
  fileForm,
  partHead,
  postForm,
  rawPost,
  sha256,
  streamForm,
  uploadedFiles,
  waitForLoggedRequest,
} from './uploads.ts';

const HEAD = partHead('; name="file"; filename="a"');

interface Kept extends TestSandbox {
  readonly dataDir: string;
}

/** A sandbox whose directory can be looked into. */
async function kept(...rules: FaultPlan['rules']): Promise<Kept> {
  const dataDir = join(await temporaryDirectory(), 'data');
  return { ...(await startTestSandbox({ dataDir, faults: { rules, seed: 1 } })), dataDir };
}

async function expectNothing(on: Kept): Promise<void> {
  expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([]);
  expect(await uploadedFiles(on.dataDir)).toEqual([]);
}

/** Resolves once a file is being received. */
async function untilBegun({ dataDir }: Kept): Promise<void> {
  while ((await uploadedFiles(dataDir)).length === 0) await new Promise(setImmediate);
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

describe('a body that breaks off', () => {
  test.each([
    ['of known length, within the file', 'Content-Length: 100000', `${HEAD}xxx`],
    ['of known length, behind the last boundary', 'Content-Length: 100000', `${HEAD}xxx${FORM_END}`],
    ['in chunks, within the file', 'Transfer-Encoding: chunked', chunk(`${HEAD}xxx`)],
    ['in chunks, behind the last boundary', 'Transfer-Encoding: chunked', chunk(`${HEAD}xxx${FORM_END}`)],
  ])('%s, makes nothing and leaves no file', async (_, headers, body) => {
    const on = await kept();
    const { socket } = rawPost(on, ATTACHMENTS, headers, body);
    await untilBegun(on);
    socket.destroy();
    await waitForLoggedRequest(on, ({ status }) => status === 400);
    await expectNothing(on);
  });

  test('by a reset makes nothing', async () => {
    const on = await kept();
    const { socket } = rawPost(on, ATTACHMENTS, 'Content-Length: 100000', `${HEAD}xxx`);
    await untilBegun(on);
    socket.resetAndDestroy();
    await waitForLoggedRequest(on, ({ status }) => status === 400);
    await expectNothing(on);
  });

  test('for want of its last boundary leaves no file', async () => {
    const on = await kept();
    const { status } = await postForm(on, ATTACHMENTS, `${HEAD}${'x'.repeat(200_000)}`);
    expect(status).toBe(400);
    await expectNothing(on);
  });

  test('because the sandbox is closed leaves no file', async () => {
    const on = await kept();
    const { whole } = rawPost(on, ATTACHMENTS, 'Content-Length: 100000', `${HEAD}xxx`);
    await untilBegun(on);
    await on.sandbox.close();
    expect((await whole).text).toBe('');
    const again = await startTestSandbox({ dataDir: on.dataDir });
    await expectNothing({ ...again, dataDir: on.dataDir });
  });

  test('leaves what comes at the same time alone', async () => {
    const on = await kept();
    const { socket } = rawPost(on, ATTACHMENTS, 'Content-Length: 100000', `${HEAD}xxx`);
    await untilBegun(on);
    const { json } = await postForm(on, ATTACHMENTS, fileForm('other'));
    socket.destroy();
    while ((await uploadedFiles(on.dataDir)).length > 1) await new Promise(setImmediate);
    expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([json]);
    expect(await uploadedFiles(on.dataDir)).toEqual([json.file_attachment_id]);
  });
});

describe('a form that is refused in its midst', () => {
  test('leaves no file', async () => {
    const on = await kept();
    const answer = await postForm(on, ATTACHMENTS, `${HEAD}x\r\n${HEAD}y${FORM_END}`);
    expect(answer.status).toBe(422);
    await expectNothing(on);
  });

  test('is answered before the rest of it comes', async () => {
    const on = await kept();
    const { first } = rawPost(on, ATTACHMENTS, 'Content-Length: 100000', `${HEAD}x\r\n${HEAD}y`);
    expect(await first()).toMatch(/^HTTP\/1\.1 422 /);
    await expectNothing(on);
  });
});

describe('the limits', () => {
  test.each([
    [DOCUMENTS, 'max_document_bytes', 'max_file_attachment_bytes'],
    [ATTACHMENTS, 'max_file_attachment_bytes', 'max_document_bytes'],
  ])('of %s are set by %s, to the byte', async (path, own, other) => {
    const on = await kept();
    await on.admin('PATCH', '/settings', { [own]: 1_000, [other]: 0 });
    const { status, json } = await postForm(on, path, fileForm('x'.repeat(1_001)));
    expect([status, json.error.code]).toEqual([413, 'body_too_large']);
    await expectNothing(on);
    expect((await postForm(on, path, fileForm('x'.repeat(1_000)))).status).toBe(201);
  });

  test('are numbers of bytes', async () => {
    const { admin } = await startTestSandbox();
    expect((await admin('PATCH', '/settings', { max_document_bytes: -1 })).status).toBe(422);
    expect((await admin('PATCH', '/settings', { max_file_attachment_bytes: 1.5 })).status).toBe(422);
  });

  test('refuse a declared length at once, before a byte of the body', async () => {
    const on = await kept();
    const { first } = rawPost(on, ATTACHMENTS, `Content-Length: ${11 * 1024 ** 3}`);
    expect(await first()).toMatch(/^HTTP\/1\.1 413 /);
    await expectNothing(on);
  });

  test('refuse a file of no declared length as soon as it is over', async () => {
    const on = await kept();
    await on.admin('PATCH', '/settings', { max_file_attachment_bytes: 1_000 });
    const { first } = rawPost(on, ATTACHMENTS, 'Transfer-Encoding: chunked', chunk(`${HEAD}${'x'.repeat(1_100)}`));
    expect(await first()).toMatch(/^HTTP\/1\.1 413 /);
    await expectNothing(on);
  });

  test('hold for what is no file, too', async () => {
    const on = await kept();
    await on.admin('PATCH', '/settings', { max_file_attachment_bytes: 0 });
    const { first } = rawPost(on, ATTACHMENTS, 'Transfer-Encoding: chunked', chunk('x'.repeat(70_000)));
    expect(await first()).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('a refusal before the body', () => {
  const MIB = new Uint8Array(1024 * 1024);

  async function refusing(on: TestSandbox, how: string): Promise<string> {
    if (how === '402') await on.admin('PATCH', '/settings', { balance_usd: 0 });
    if (how === '429') {
      await on.admin('PATCH', '/settings', { rate_limit: { requests: 1, per_seconds: 3_600 } });
      await on.partner('GET', ATTACHMENTS);
    }
    if (how === '413') await on.admin('PATCH', '/settings', { max_file_attachment_bytes: 1 });
    if (how === '403') return on.sandbox.createToken({ scopes: ['file_attachments.read'] });
    return how === '401' ? 'pat_wrong' : on.token;
  }

  test.each(['401', '402', '403', '413', '429'])('%s comes before a byte of the body', async (how) => {
    const on = await kept();
    const token = await refusing(on, how);
    const { first } = rawPost({ ...on, token }, ATTACHMENTS, 'Content-Length: 5000000');
    expect(await first()).toMatch(new RegExp(`^HTTP/1\\.1 ${how} `));
    await expectNothing(on);
  });

  test.each(['401', '402', '403', '413', '429'])('%s is seen by a client that is still sending', async (how) => {
    const on = await startTestSandbox();
    const token = await refusing(on, how);
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (; sent < 10_000; sent += 1) yield MIB;
    }
    const { status, json } = await streamForm({ ...on, token }, ATTACHMENTS, endless(), 10_000 * MIB.length);
    expect([String(status), json]).toEqual([how, { error: expect.objectContaining({ code: expect.any(String) }) }]);
    expect(sent).toBeLessThan(500);
  });

  test('is seen by a client that looks for it only when all is sent', async () => {
    const on = await startTestSandbox();
    const body = Buffer.alloc(16 * MIB.length);
    // After an early answer the sandbox reads on for half a second at most, in which a busy machine may not send all of it.
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { socket, whole } = rawPost({ ...on, token: 'pat_wrong' }, ATTACHMENTS, `Content-Length: ${body.length}`);
    socket.pause();
    await new Promise((resolve) => socket.write(body, resolve));
    socket.end();
    socket.resume();
    expect(await whole).toEqual({ text: expect.stringMatching(/^HTTP\/1\.1 401 /), end: 'ended' });
  });
});

describe('a fault', () => {
  const CONTENT = 'x'.repeat(300_000);
  const LENGTH = `Content-Length: ${fileForm(CONTENT).length}`;

  async function made(on: Kept): Promise<unknown> {
    const { uploads } = (await on.admin('GET', '/uploads')).json;
    expect(await uploadedFiles(on.dataDir)).toHaveLength(uploads.length);
    return uploads.map((each: { sha256: string }) => each.sha256);
  }

  test('before: a status comes without the body', async () => {
    const on = await kept({ kind: 'status', status: 503, on: 'POST' });
    const { first } = rawPost(on, ATTACHMENTS, LENGTH);
    expect(await first()).toMatch(/^HTTP\/1\.1 503 /);
    expect(await made(on)).toEqual([]);
  });

  test('before: a reset comes without the body', async () => {
    const on = await kept({ kind: 'reset', on: 'POST' });
    const { whole } = rawPost(on, ATTACHMENTS, LENGTH);
    expect(await whole).toEqual({ text: '', end: 'ECONNRESET' });
    expect(await made(on)).toEqual([]);
  });

  test('before: a stall reads no body, whatever is sent', async () => {
    const on = await kept({ kind: 'stall', on: 'POST' });
    const { socket, whole } = rawPost(on, ATTACHMENTS, LENGTH, fileForm(CONTENT));
    await waitForLoggedRequest(on, ({ fault }) => fault === 'stall/before');
    expect(await made(on)).toEqual([]);
    socket.destroy();
    expect((await whole).text).toBe('');
    expect(await made(on)).toEqual([]);
  });

  test('before: a delay is over before the body is read', async () => {
    const on = await kept({ kind: 'delay', ms: 50, on: 'POST' });
    const answer = await postForm(on, ATTACHMENTS, fileForm(CONTENT));
    expect(answer.status).toBe(201);
    expect(await made(on)).toEqual([sha256(CONTENT)]);
  });

  test.each<FaultPlan['rules'][number]>([
    { kind: 'reset', stage: 'after' },
    { kind: 'stall', stage: 'after' },
    { kind: 'status', stage: 'after', status: 503 },
    { kind: 'html', stage: 'after' },
    { kind: 'garbage', stage: 'after' },
    { kind: 'cut' },
  ])('%j: the file is kept and its id is not told', async (rule) => {
    const on = await kept({ ...rule, on: 'POST' });
    const { socket, whole } = rawPost(on, ATTACHMENTS, `Connection: close\r\n${LENGTH}`, fileForm(CONTENT));
    await waitForLoggedRequest(on, ({ body, fault }) => body !== null && fault !== null);
    const { uploads } = (await on.admin('GET', '/uploads')).json;
    if (rule.kind === 'stall') socket.destroy();
    const { text } = await whole;
    expect(await made(on)).toEqual([sha256(CONTENT)]);
    // A cut leaves the first half of the answer, which tells the id.
    expect(text.includes(uploads[0].file_attachment_id)).toBe(rule.kind === 'cut');
    if (rule.kind === 'cut') expect(text).not.toContain('created_at');
  });

  test('at a byte of the body: the connection is reset there and not before', async () => {
    const on = await kept({ kind: 'reset', at_bytes: 200_000, on: 'POST', times: 1 });
    const { socket, whole } = rawPost(on, ATTACHMENTS, LENGTH, fileForm(CONTENT).subarray(0, 199_999));
    await waitForLoggedRequest(on, ({ fault }) => fault === 'reset/before');
    const other = on.admin('GET', '/settings').then(() => 'open');
    expect(await Promise.race([whole, other])).toBe('open');
    socket.write('x');
    expect(await whole).toEqual({ text: '', end: 'ECONNRESET' });
    expect(await made(on)).toEqual([]);
    expect((await postForm(on, ATTACHMENTS, fileForm(CONTENT))).status).toBe(201);
  });

  test('at a byte beyond the body: the connection is reset at its end, and nothing was processed', async () => {
    const on = await kept({ kind: 'reset', at_bytes: 1_000_000, on: 'POST' });
    const failure = await postForm(on, ATTACHMENTS, fileForm(CONTENT)).catch((error) => error);
    expect(failure.cause.code).toBe('ECONNRESET');
    expect(await made(on)).toEqual([]);
  });

  test('at a byte is for requests that are not processed', async () => {
    const { admin } = await startTestSandbox();
    const { status, json } = await admin('PUT', '/faults', { rules: [{ kind: 'reset', stage: 'after', at_bytes: 5 }] });
    expect([status, json.error.fields[0].path]).toEqual([422, 'rules[0].at_bytes']);
  });
});
