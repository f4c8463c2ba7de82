import { randomBytes } from 'node:crypto';
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startTestSandbox } from './client.ts';
import {
  ATTACHMENTS,
  BOUNDARY,
  DOCUMENTS,
  downloadContent,
  FORM_END,
  fileForm,
  partHead,
  postForm,
  sha256,
  streamForm,
} from './uploads.ts';

const MIB = 1024 * 1024;

const ENDPOINTS = [
  [DOCUMENTS, 'document_id', 'name', /^doc_/],
  [ATTACHMENTS, 'file_attachment_id', 'filename', /^att_/],
] as const;

describe.each(ENDPOINTS)('%s', (path, idName, nameName, idShape) => {
  test.each([
    ['0 bytes', Buffer.alloc(0)],
    ['1 byte', Buffer.from([0])],
    ['what looks like a boundary', Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--\r\n`)],
    ['1 MiB of anything', randomBytes(MIB)],
  ])('a file of %s arrives as it was sent', async (_, content) => {
    const on = await startTestSandbox();
    const { status, json } = await postForm(on, path, fileForm(content));
    expect(status).toBe(201);
    expect(json).toEqual({
      [idName]: expect.stringMatching(idShape),
      [nameName]: 'a.bin',
      content_type: 'application/octet-stream',
      bytes: content.length,
      sha256: sha256(content),
      fields: {},
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect((await downloadContent(on, json[idName])).equals(content)).toBe(true);
  });

  test('the same file again makes another one; all are listed, page by page, and shown one by one', async () => {
    const on = await startTestSandbox();
    const made = [];
    for (let count = 0; count < 3; count += 1) made.push((await postForm(on, path, fileForm('same'))).json);
    expect(new Set(made.map((each) => each[idName])).size).toBe(3);
    const first = (await on.partner('GET', `${path}?page_size=2`)).json;
    expect([first.count, first.results]).toEqual([3, made.slice(0, 2)]);
    const next = (await on.partner('GET', first.next.slice(on.sandbox.baseUrl.length))).json;
    expect([next.results, next.next]).toEqual([made.slice(2), null]);
    expect((await on.partner('GET', `${path}${made[1][idName]}/`)).json).toEqual(made[1]);
    const other = path === DOCUMENTS ? ATTACHMENTS : DOCUMENTS;
    expect((await on.partner('GET', other)).json.count).toBe(0);
    const missing = await on.partner('GET', `${other}${made[0][idName]}/`);
    expect([missing.status, missing.json.error.code]).toEqual([404, expect.stringMatching(/_not_found$/)]);
  });

  test.each(['read', 'write'])('needs its own scope to %s', async (right) => {
    const { sandbox, partner } = await startTestSandbox();
    const prefix = path === DOCUMENTS ? 'documents' : 'file_attachments';
    const method = right === 'read' ? 'GET' : 'POST';
    const others = [`${prefix}.${right === 'read' ? 'write' : 'read'}`, 'spaces.read'];
    const refused = await partner(method, path, { token: await sandbox.createToken({ scopes: others }) });
    expect([refused.status, refused.json.error.code]).toEqual([403, 'missing_scope']);
    const token = await sandbox.createToken({ scopes: [`${prefix}.${right}`] });
    expect((await partner(method, path, { token })).status).not.toBe(403);
  });
});

describe('a file', () => {
  test('of 64 MiB arrives whole, of known length or not, two at once', async () => {
    const on = await startTestSandbox();
    const block = randomBytes(MIB);
    const whole = Buffer.concat(Array.from({ length: 64 }, () => block));
    const head = Buffer.from(partHead('; name="file"; filename="big"'));
    async function* body(): AsyncGenerator<Uint8Array> {
      yield head;
      for (let sent = 0; sent < 64; sent += 1) yield block;
      yield Buffer.from(FORM_END);
    }
    const answers = await Promise.all([
      streamForm(on, ATTACHMENTS, body(), head.length + whole.length + FORM_END.length),
      streamForm(on, ATTACHMENTS, body()),
    ]);
    for (const { status, json } of answers) {
      expect([status, json.bytes, json.sha256]).toEqual([201, whole.length, sha256(whole)]);
      expect((await downloadContent(on, String(json.file_attachment_id))).equals(whole)).toBe(true);
    }
  });

  test('in pieces that end anywhere arrives whole', async () => {
    const on = await startTestSandbox();
    const content = `\r\n--${BOUNDARY}`.slice(0, -1).repeat(3);
    async function* body(): AsyncGenerator<Uint8Array> {
      for (const byte of fileForm(content)) yield Buffer.from([byte]);
    }
    const { status, json } = await streamForm(on, ATTACHMENTS, body());
    expect([status, json.sha256]).toEqual([201, sha256(content)]);
  });

  test.each([
    'a"b\r\nX: y.txt',
    '日本語.pdf',
    '../../x',
    '/etc/passwd',
    'C:\\dir\\\\file\\',
    "it's; filename=x.txt",
    '100%.txt',
    ' ',
    '😀'.repeat(50),
  ])('may be called %j when it is encoded as browsers do', async (name) => {
    const on = await startTestSandbox();
    const form = new FormData();
    form.append('file', new Blob(['x']), name);
    const encoded = new Response(form);
    const type = encoded.headers.get('content-type') ?? '';
    const answer = await postForm(on, ATTACHMENTS, new Uint8Array(await encoded.arrayBuffer()), type);
    expect([answer.status, answer.json.filename]).toEqual([201, name]);
    expect((await downloadContent(on, answer.json.file_attachment_id)).toString()).toBe('x');
  });

  test('keeps the content type that it was sent with', async () => {
    const head = partHead('; name="file"; filename="a"', 'Content-Type: text/csv; charset=latin1\r\n');
    const { json } = await postForm(await startTestSandbox(), DOCUMENTS, `${head}x${FORM_END}`);
    expect(json.content_type).toBe('text/csv; charset=latin1');
  });

  test('keeps the other fields, before and after it, whatever their names', async () => {
    const form = new FormData();
    form.append('__proto__', 'a');
    form.append('label', 'eins\r\nzwei');
    form.append('file', new Blob(['x']), 'x');
    form.append('constructor', '');
    form.append('label', 'ü');
    const encoded = new Response(form);
    const on = await startTestSandbox();
    const type = encoded.headers.get('content-type') ?? '';
    const { json } = await postForm(on, ATTACHMENTS, new Uint8Array(await encoded.arrayBuffer()), type);
    expect(Object.entries(json.fields)).toEqual([
      ['__proto__', 'a'],
      ['label', ['eins\r\nzwei', 'ü']],
      ['constructor', ''],
    ]);
  });

  test('leaves its length and hash in the request log, and nothing else', async () => {
    const on = await startTestSandbox();
    await postForm(on, DOCUMENTS, fileForm('secret'));
    await on.partner('POST', DOCUMENTS, { body: { name: 'n', content: 'secret' } });
    await on.partner('POST', DOCUMENTS, { body: { name: '', content: 'secret' } });
    const { text, json } = await on.admin('GET', '/requests');
    const kept = { bytes: 6, sha256: sha256('secret') };
    expect(json.requests.map(({ body }: { body: unknown }) => body)).toEqual([kept, kept, null]);
    expect(text).not.toContain('"secret"');
  });
});

describe('a document of JSON', () => {
  test('is its content as a text', async () => {
    const on = await startTestSandbox();
    const { status, json } = await on.partner('POST', DOCUMENTS, { body: { name: 'Prices', content: '1 € ' } });
    expect(status).toBe(201);
    expect(json).toMatchObject({ name: 'Prices', content_type: 'text/plain; charset=utf-8', bytes: 6, fields: {} });
    expect(json.sha256).toBe(sha256('1 € '));
    expect((await downloadContent(on, json.document_id)).toString()).toBe('1 € ');
  });

  test.each([
    [{ content: 'x' }, 'name'],
    [{ name: ' ', content: 'x' }, 'name'],
    [{ name: 'n' }, 'content'],
    [{ name: 'n', content: '\ud800' }, 'content'],
    [{ name: 'n', content: 'x', folder: 'y' }, 'folder'],
  ])('%j is refused', async (body, path) => {
    const { status, json } = await (await startTestSandbox()).partner('POST', DOCUMENTS, { body });
    expect(status).toBe(422);
    expect(json.error.fields.map((field: { path: string }) => field.path)).toEqual([path]);
  });

  test('may be larger than other bodies, but not than the limit', async () => {
    const on = await startTestSandbox();
    const body = { name: 'n', content: 'x'.repeat(2 * MIB) };
    expect((await on.partner('POST', DOCUMENTS, { body })).status).toBe(201);
    await on.admin('PATCH', '/settings', { max_document_bytes: 2 * MIB - 1 });
    const { status, json } = await on.partner('POST', DOCUMENTS, { body });
    expect([status, json.error.code]).toEqual([413, 'body_too_large']);
  });

  test('is not a file attachment', async () => {
    const { status } = await (await startTestSandbox()).partner('POST', ATTACHMENTS, {
      body: { name: 'n', content: 'x' },
    });
    expect(status).toBe(415);
  });
});

/** The files that this process has open whose path holds the text. */
async function openFiles(text: string): Promise<string[]> {
  const links = (await readdir('/proc/self/fd')).map((fd) => readlink(join('/proc/self/fd', fd)).catch(() => ''));
  return (await Promise.all(links)).filter((path) => path.includes(text));
}

describe('the admin surface', () => {
  test.skipIf(process.platform !== 'linux')('closes a file when whoever reads it goes away', async () => {
    const on = await startTestSandbox();
    const { json } = await postForm(on, ATTACHMENTS, fileForm(Buffer.alloc(32 * MIB)));
    const id = json.file_attachment_id;
    const patience = new AbortController();
    const headers = { authorization: `Bearer ${on.sandbox.adminKey}` };
    const url = `${on.sandbox.adminUrl}/uploads/${id}/content`;
    const answer = await fetch(url, { headers, signal: patience.signal });
    expect(answer.status).toBe(200);
    expect(await openFiles(id)).toHaveLength(1);
    patience.abort();
    while ((await openFiles(id)).length > 0) await new Promise(setImmediate);
  });

  test('lists everything that was uploaded', async () => {
    const on = await startTestSandbox();
    const one = (await postForm(on, ATTACHMENTS, fileForm('one'))).json;
    const two = (await postForm(on, DOCUMENTS, fileForm('two'))).json;
    expect((await on.admin('GET', '/uploads')).json).toEqual({ uploads: [one, two] });
  });

  test('gives the bytes with their length, and none to HEAD', async () => {
    const on = await startTestSandbox();
    const { json } = await postForm(on, ATTACHMENTS, fileForm('12345'));
    for (const [method, text] of [
      ['GET', '12345'],
      ['HEAD', ''],
    ] as const) {
      const answer = await on.admin(method, `/uploads/${json.file_attachment_id}/content`);
      expect([answer.status, answer.headers.get('content-length'), answer.text]).toEqual([200, '5', text]);
    }
    expect((await on.admin('GET', '/uploads/att_0/content')).status).toBe(404);
    expect((await on.partner('GET', `/uploads/${json.file_attachment_id}/content`)).status).toBe(404);
  });
});
