import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { FaultPlan } from '../../src/sandbox/sandbox.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox-client.ts';
import { temporaryDirectory } from '../support/sandbox-process.ts';
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
} from '../support/sandbox-uploads.ts';

const HEAD = partHead('; name="file"; filename="a"');

interface SandboxOnDisk extends TestSandbox {
  readonly dataDir: string;
}

async function startOnDisk(...rules: FaultPlan['rules']): Promise<SandboxOnDisk> {
  const dataDir = join(await temporaryDirectory(), 'data');
  return { ...(await startTestSandbox({ dataDir, faults: { rules, seed: 1 } })), dataDir };
}

async function expectNoUploads(on: SandboxOnDisk): Promise<void> {
  expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([]);
  expect(await uploadedFiles(on.dataDir)).toEqual([]);
}

/** Resolves once a file is being received. */
async function waitForFile({ dataDir }: SandboxOnDisk): Promise<void> {
  while ((await uploadedFiles(dataDir)).length === 0) await new Promise(setImmediate);
}

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

describe('a connection that ends', () => {
  test.each([
    ['within a file of known length', 'Content-Length: 100000', `${HEAD}xxx`],
    ['after the last boundary of a body of known length', 'Content-Length: 100000', `${HEAD}xxx${FORM_END}`],
    ['within a chunked file', 'Transfer-Encoding: chunked', chunk(`${HEAD}xxx`)],
    ['after the last boundary of a chunked body', 'Transfer-Encoding: chunked', chunk(`${HEAD}xxx${FORM_END}`)],
    ['with a reset', 'Content-Length: 100000', `${HEAD}xxx`],
  ])('%s leaves no upload and no file', async (how, headers, body) => {
    const on = await startOnDisk();
    const { socket } = rawPost(on, ATTACHMENTS, headers, body);
    await waitForFile(on);
    if (how === 'with a reset') socket.resetAndDestroy();
    else socket.destroy();
    await waitForLoggedRequest(on, ({ status }) => status === 400);
    await expectNoUploads(on);
  });

  test('leaves no file if the sandbox was closed', async () => {
    const on = await startOnDisk();
    const { whole } = rawPost(on, ATTACHMENTS, 'Content-Length: 100000', `${HEAD}xxx`);
    await waitForFile(on);
    await on.sandbox.close();
    expect((await whole).text).toBe('');
    const again = await startTestSandbox({ dataDir: on.dataDir });
    await expectNoUploads({ ...again, dataDir: on.dataDir });
  });

  test('does not affect another concurrent upload', async () => {
    const on = await startOnDisk();
    const { socket } = rawPost(on, ATTACHMENTS, 'Content-Length: 100000', `${HEAD}xxx`);
    await waitForFile(on);
    const { json } = await postForm(on, ATTACHMENTS, fileForm('other'));
    socket.destroy();
    while ((await uploadedFiles(on.dataDir)).length > 1) await new Promise(setImmediate);
    expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([json]);
    expect(await uploadedFiles(on.dataDir)).toEqual([json.file_attachment_id]);
  });
});

describe('an invalid form', () => {
  test.each([
    ['that has a second file', `${HEAD}x\r\n${HEAD}y${FORM_END}`, 422],
    ['that lacks its last boundary', `${HEAD}${'x'.repeat(200_000)}`, 400],
  ])('%s leaves no file', async (_, body, status) => {
    const on = await startOnDisk();
    expect((await postForm(on, ATTACHMENTS, body)).status).toBe(status);
    await expectNoUploads(on);
  });

  test('is rejected before the rest of it arrives', async () => {
    const on = await startOnDisk();
    const { first } = rawPost(on, ATTACHMENTS, 'Content-Length: 100000', `${HEAD}x\r\n${HEAD}y`);
    expect(await first()).toMatch(/^HTTP\/1\.1 422 /);
    await expectNoUploads(on);
  });
});

describe('the size limit of uploads', () => {
  test.each([
    [DOCUMENTS, 'max_document_bytes', 'max_file_attachment_bytes'],
    [ATTACHMENTS, 'max_file_attachment_bytes', 'max_document_bytes'],
  ])('of %s is %s, to the byte', async (path, own, other) => {
    const on = await startOnDisk();
    await on.admin('PATCH', '/settings', { [own]: 1_000, [other]: 0 });
    const { status, json } = await postForm(on, path, fileForm('x'.repeat(1_001)));
    expect([status, json.error.code]).toEqual([413, 'body_too_large']);
    await expectNoUploads(on);
    expect((await postForm(on, path, fileForm('x'.repeat(1_000)))).status).toBe(201);
  });

  test.each([
    ['a declared length', 10 * 1024 ** 3, `Content-Length: ${11 * 1024 ** 3}`, ''],
    ['a chunked file', 1_000, 'Transfer-Encoding: chunked', chunk(`${HEAD}${'x'.repeat(1_100)}`)],
    ['a chunked body without a file', 0, 'Transfer-Encoding: chunked', chunk('x'.repeat(70_000))],
  ])('is enforced on %s as soon as it is exceeded', async (_, max_file_attachment_bytes, headers, body) => {
    const on = await startOnDisk();
    await on.admin('PATCH', '/settings', { max_file_attachment_bytes });
    const { first } = rawPost(on, ATTACHMENTS, headers, body);
    expect(await first()).toMatch(/^HTTP\/1\.1 413 /);
    await expectNoUploads(on);
  });
});

describe('a rejection before the body', () => {
  const MIB = new Uint8Array(1024 * 1024);

  /** Makes the sandbox reject uploads with the status. @returns the token to upload with */
  async function refuseWith(on: TestSandbox, status: string): Promise<string> {
    if (status === '402') await on.admin('PATCH', '/settings', { balance_usd: 0 });
    if (status === '429') {
      await on.admin('PATCH', '/settings', { rate_limit: { requests: 1, per_seconds: 3_600 } });
      await on.partner('GET', ATTACHMENTS);
    }
    if (status === '413') await on.admin('PATCH', '/settings', { max_file_attachment_bytes: 1 });
    if (status === '403') return on.sandbox.createToken({ scopes: ['file_attachments.read'] });
    return status === '401' ? 'pat_wrong' : on.token;
  }

  test.each(['401', '402', '403', '413', '429'])('with %s is sent before any of the body arrives', async (status) => {
    const on = await startOnDisk();
    const token = await refuseWith(on, status);
    const { first } = rawPost({ ...on, token }, ATTACHMENTS, 'Content-Length: 5000000');
    expect(await first()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    await expectNoUploads(on);
  });

  test.each(['401', '402', '403', '413', '429'])('with %s reaches a client that is still sending', async (refusal) => {
    const on = await startTestSandbox();
    const token = await refuseWith(on, refusal);
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (; sent < 10_000; sent += 1) yield MIB;
    }
    const { status, json } = await streamForm({ ...on, token }, ATTACHMENTS, endless(), 10_000 * MIB.length);
    expect([String(status), json]).toEqual([refusal, { error: expect.objectContaining({ code: expect.any(String) }) }]);
    expect(sent).toBeLessThan(500);
  });

  test('reaches a client that reads only after it has sent everything', async () => {
    const on = await startTestSandbox();
    const body = Buffer.alloc(16 * MIB.length);
    // After an early response the adapter reads on for at most half a second, too short on a busy machine.
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

describe('a fault during an upload', () => {
  const CONTENT = 'x'.repeat(300_000);
  const LENGTH = `Content-Length: ${fileForm(CONTENT).length}`;

  /** The hashes of all uploads, each of which has its file. */
  async function uploadedHashes(on: SandboxOnDisk): Promise<string[]> {
    const { uploads } = (await on.admin('GET', '/uploads')).json;
    expect(await uploadedFiles(on.dataDir)).toHaveLength(uploads.length);
    return uploads.map((each: { sha256: string }) => each.sha256);
  }

  test('"status" before processing is sent without waiting for the body', async () => {
    const on = await startOnDisk({ kind: 'status', status: 503, on: 'POST' });
    expect(await rawPost(on, ATTACHMENTS, LENGTH).first()).toMatch(/^HTTP\/1\.1 503 /);
    expect(await uploadedHashes(on)).toEqual([]);
  });

  test('"reset" before processing does not wait for the body', async () => {
    const on = await startOnDisk({ kind: 'reset', on: 'POST' });
    expect(await rawPost(on, ATTACHMENTS, LENGTH).whole).toEqual({ text: '', end: 'ECONNRESET' });
    expect(await uploadedHashes(on)).toEqual([]);
  });

  test('"stall" before processing reads no body', async () => {
    const on = await startOnDisk({ kind: 'stall', on: 'POST' });
    const { socket, whole } = rawPost(on, ATTACHMENTS, LENGTH, fileForm(CONTENT));
    await waitForLoggedRequest(on, ({ fault }) => fault === 'stall/before');
    socket.destroy();
    expect((await whole).text).toBe('');
    expect(await uploadedHashes(on)).toEqual([]);
  });

  test.each<FaultPlan['rules'][number]>([
    { kind: 'reset', stage: 'after' },
    { kind: 'stall', stage: 'after' },
    { kind: 'status', stage: 'after', status: 503 },
    { kind: 'html', stage: 'after' },
    { kind: 'garbage', stage: 'after' },
    { kind: 'cut' },
  ])('%j stores the file without acknowledging it', async (rule) => {
    const on = await startOnDisk({ ...rule, on: 'POST' });
    const { socket, whole } = rawPost(on, ATTACHMENTS, `Connection: close\r\n${LENGTH}`, fileForm(CONTENT));
    await waitForLoggedRequest(on, ({ body, fault }) => body !== null && fault !== null);
    const { uploads } = (await on.admin('GET', '/uploads')).json;
    if (rule.kind === 'stall') socket.destroy();
    const { text } = await whole;
    expect(await uploadedHashes(on)).toEqual([sha256(CONTENT)]);
    // The half of the response that a cut leaves includes the id.
    expect(text.includes(uploads[0].file_attachment_id)).toBe(rule.kind === 'cut');
    if (rule.kind === 'cut') expect(text).not.toContain('created_at');
  });

  test('"reset" at a byte of the body happens exactly there', async () => {
    const on = await startOnDisk({ kind: 'reset', at_bytes: 200_000, on: 'POST', times: 1 });
    const { socket, whole } = rawPost(on, ATTACHMENTS, LENGTH, fileForm(CONTENT).subarray(0, 199_999));
    await waitForLoggedRequest(on, ({ fault }) => fault === 'reset/before');
    const other = on.admin('GET', '/settings').then(() => 'open');
    expect(await Promise.race([whole, other])).toBe('open');
    socket.write('x');
    expect(await whole).toEqual({ text: '', end: 'ECONNRESET' });
    expect(await uploadedHashes(on)).toEqual([]);
    expect((await postForm(on, ATTACHMENTS, fileForm(CONTENT))).status).toBe(201);
  });

  test('"reset" at a byte beyond the body happens at its end, and nothing is stored', async () => {
    const on = await startOnDisk({ kind: 'reset', at_bytes: 1_000_000, on: 'POST' });
    const failure = await postForm(on, ATTACHMENTS, fileForm(CONTENT)).catch((error) => error);
    expect(failure.cause.code).toBe('ECONNRESET');
    expect(await uploadedHashes(on)).toEqual([]);
  });
});
