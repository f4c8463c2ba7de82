import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { UploadFiles } from '../../src/sandbox/store/upload-files.ts';
import { DESCRIPTORS, openBelow } from '../support/descriptors.ts';
import { tempDirectory } from '../support/run.ts';
import { startTestSandbox } from '../support/sandbox-client.ts';
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
} from '../support/sandbox-uploads.ts';

const MIB = 1024 * 1024;

describe.each([
  [DOCUMENTS, 'document_id', 'name', /^doc_/],
  [ATTACHMENTS, 'file_attachment_id', 'filename', /^att_/],
] as const)('an upload to %s', (path, idField, nameField, idShape) => {
  test.each([
    ['0 bytes', Buffer.alloc(0)],
    ['1 byte', Buffer.from([0])],
    ['what looks like a boundary', Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--\r\n`)],
    ['1 MiB of random bytes', randomBytes(MIB)],
  ])('of %s keeps every byte', async (_, content) => {
    const on = await startTestSandbox();
    const { status, json } = await postForm(on, path, fileForm(content));
    expect(status).toBe(201);
    expect(json).toEqual({
      [idField]: expect.stringMatching(idShape),
      [nameField]: 'a.bin',
      content_type: 'text/plain',
      bytes: content.length,
      sha256: sha256(content),
      fields: {},
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect((await downloadContent(on, json[idField])).equals(content)).toBe(true);
  });

  test('of the same file creates another upload; each is listed and can be read by its id', async () => {
    const on = await startTestSandbox();
    const uploads = [];
    for (let count = 0; count < 3; count += 1) uploads.push((await postForm(on, path, fileForm('same'))).json);
    expect(new Set(uploads.map((each) => each[idField])).size).toBe(3);
    const first = (await on.partner('GET', `${path}?page_size=2`)).json;
    expect([first.count, first.results]).toEqual([3, uploads.slice(0, 2)]);
    const next = (await on.partner('GET', first.next.slice(on.sandbox.baseUrl.length))).json;
    expect([next.results, next.next]).toEqual([uploads.slice(2), null]);
    expect((await on.partner('GET', `${path}${uploads[1][idField]}/`)).json).toEqual(uploads[1]);
    const other = path === DOCUMENTS ? ATTACHMENTS : DOCUMENTS;
    expect((await on.partner('GET', other)).json.count).toBe(0);
    const missing = await on.partner('GET', `${other}${uploads[0][idField]}/`);
    expect([missing.status, missing.json.error.code]).toEqual([404, expect.stringMatching(/_not_found$/)]);
  });
});

describe('a file', () => {
  test('of 16 MiB arrives complete, with or without a declared length, even two concurrently', async () => {
    const on = await startTestSandbox();
    const block = randomBytes(MIB);
    const whole = Buffer.concat(Array.from({ length: 16 }, () => block));
    const head = Buffer.from(partHead('; name="file"; filename="big"'));
    async function* body(): AsyncGenerator<Uint8Array> {
      yield head;
      for (let sent = 0; sent < 16; sent += 1) yield block;
      yield Buffer.from(FORM_END);
    }
    const responses = await Promise.all([
      streamForm(on, ATTACHMENTS, body(), head.length + whole.length + FORM_END.length),
      streamForm(on, ATTACHMENTS, body()),
    ]);
    for (const { status, json } of responses) {
      expect([status, json.bytes, json.sha256]).toEqual([201, whole.length, sha256(whole)]);
      expect((await downloadContent(on, String(json.file_attachment_id))).equals(whole)).toBe(true);
    }
  });

  test('arrives complete byte by byte', async () => {
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
    'C:\\dir\\file.txt',
    "it's; filename=x.txt",
    '100%.txt',
    ' ',
    '😀'.repeat(50),
  ])('named %j keeps its name when it is encoded as in browsers', async (name) => {
    const on = await startTestSandbox();
    const form = new FormData();
    form.append('file', new Blob(['x']), name);
    const encoded = new Response(form);
    const type = encoded.headers.get('content-type') ?? '';
    const response = await postForm(on, ATTACHMENTS, new Uint8Array(await encoded.arrayBuffer()), type);
    expect([response.status, response.json.filename]).toEqual([201, name]);
    expect((await downloadContent(on, response.json.file_attachment_id)).toString()).toBe('x');
  });

  test('keeps its content type, and the other fields of the form', async () => {
    const form = new FormData();
    form.append('__proto__', 'a');
    form.append('label', 'eins\r\nzwei');
    form.append('file', new Blob(['x'], { type: 'text/csv' }), 'x');
    form.append('constructor', '');
    form.append('label', 'ü');
    const encoded = new Response(form);
    const on = await startTestSandbox();
    const type = encoded.headers.get('content-type') ?? '';
    const { json } = await postForm(on, ATTACHMENTS, new Uint8Array(await encoded.arrayBuffer()), type);
    expect(json.content_type).toBe('text/csv');
    expect(Object.entries(json.fields)).toEqual([
      ['__proto__', 'a'],
      ['label', ['eins\r\nzwei', 'ü']],
      ['constructor', ''],
    ]);
  });

  test('appears in the request log only with its length and hash', async () => {
    const on = await startTestSandbox();
    await postForm(on, DOCUMENTS, fileForm('secret'));
    await on.partner('POST', DOCUMENTS, { body: { name: 'n', content: 'secret' } });
    await on.partner('POST', DOCUMENTS, { body: { name: '', content: 'secret' } });
    const { text, json } = await on.admin('GET', '/requests');
    const logged = { bytes: 6, sha256: sha256('secret') };
    expect(json.requests.map(({ body }: { body: unknown }) => body)).toEqual([logged, logged, null]);
    expect(text).not.toContain('"secret"');
  });
});

describe('a JSON document', () => {
  test('is stored as a text file', async () => {
    const on = await startTestSandbox();
    const { status, json } = await on.partner('POST', DOCUMENTS, { body: { name: 'Prices', content: '1 € ' } });
    expect(status).toBe(201);
    expect(json).toMatchObject({ name: 'Prices', content_type: 'text/plain; charset=utf-8', bytes: 6, fields: {} });
    expect(json.sha256).toBe(sha256('1 € '));
    expect((await downloadContent(on, json.document_id)).toString()).toBe('1 € ');
  });

  test('may be larger than other JSON bodies, up to the limit in the settings', async () => {
    const on = await startTestSandbox();
    const body = { name: 'n', content: 'x'.repeat(2 * MIB) };
    expect((await on.partner('POST', DOCUMENTS, { body })).status).toBe(201);
    await on.admin('PATCH', '/settings', { max_document_bytes: 2 * MIB - 1 });
    const { status, json } = await on.partner('POST', DOCUMENTS, { body });
    expect([status, json.error.code]).toEqual([413, 'body_too_large']);
  });

  test('is rejected as a file attachment', async () => {
    const { partner } = await startTestSandbox();
    expect((await partner('POST', ATTACHMENTS, { body: { name: 'n', content: 'x' } })).status).toBe(415);
  });
});

describe('a form', () => {
  const FILE = `${partHead('; name="file"; filename="a"')}x`;
  const FIELD = `${partHead('; name="f"')}x`;

  test.each([
    ['without a file', FIELD, 422, 'file is required'],
    ['without parts', '', 422, 'file is required'],
    ['with two files', `${FILE}\r\n${FILE}`, 422, 'file must appear only once'],
    [
      'with the file in another field',
      `${partHead('; name="data"; filename="a"')}x`,
      422,
      'data is not a known field for a file',
    ],
    ['with a file in an unnamed field', `${partHead('; filename="a"')}x`, 422, 'is not a known field for a file'],
    ['with an unnamed field', `${partHead('')}x`, 400, 'a field has no name'],
    ['with text in the file field', `${partHead('; name="file"')}x`, 422, 'file must be a file'],
    ['with a file without a name', `${partHead('; name="file"; filename=""')}x`, 422, 'file must have a filename'],
    ['with a part without headers', `--${BOUNDARY}\r\n\r\nx`, 422, 'file is required'],
    ['with 101 fields', Array(101).fill(FIELD).join('\r\n'), 422, 'at most 100 fields'],
    ['with a field of 70 kB', `${partHead('; name="f"')}${'x'.repeat(70_000)}`, 413, 'The fields are larger'],
  ])('%s is rejected', async (_, parts, status, message) => {
    const on = await startTestSandbox();
    const response = await postForm(on, ATTACHMENTS, `${parts}${FORM_END}`);
    expect([response.status, response.json.error.message]).toEqual([status, expect.stringContaining(message)]);
    expect((await on.partner('GET', ATTACHMENTS)).json.count).toBe(0);
  });

  test.each([
    ['nothing', ''],
    ['no form', 'x'],
    ['a form that ends within the file', FILE],
    ['a form that ends within the headers', partHead('; name="file"').slice(0, -9)],
    ['a form that ends within the last boundary', `${FILE}${FORM_END.slice(0, -3)}`],
  ])('of %s is rejected as malformed', async (_, body) => {
    const on = await startTestSandbox();
    const { status, json } = await postForm(on, ATTACHMENTS, body);
    expect([status, json.error.message]).toEqual([400, expect.stringContaining('ends before its last boundary')]);
    expect((await on.partner('GET', ATTACHMENTS)).json.count).toBe(0);
  });

  test('may have text before and after it', async () => {
    const body = `before\r\n${FILE}${FORM_END}${'after'.repeat(9_000)}`;
    const { status, json } = await postForm(await startTestSandbox(), ATTACHMENTS, body);
    expect([status, json.sha256]).toEqual([201, sha256('x')]);
  });

  test.each([
    ['text/plain', 415, 'unsupported_media_type'],
    ['multipart/mixed; boundary=b', 415, 'unsupported_media_type'],
    ['multipart/form-data', 400, 'malformed_multipart'],
    [`multipart/form-data; charset=utf-8; boundary="${BOUNDARY}"`, 201, undefined],
  ])('with the content type %s gets %i', async (type, status, code) => {
    const response = await postForm(await startTestSandbox(), ATTACHMENTS, fileForm('x'), type);
    expect([response.status, response.json.error?.code]).toEqual([status, code]);
  });
});

/** The files with this text in their path that this process has open. */
async function openFiles(text: string): Promise<string[]> {
  const links = (await readdir('/proc/self/fd')).map((fd) => readlink(join('/proc/self/fd', fd)).catch(() => ''));
  return (await Promise.all(links)).filter((path) => path.includes(text));
}

describe('the admin API', () => {
  test('lists all uploads, and returns their bytes with the length, but no body to HEAD', async () => {
    const on = await startTestSandbox();
    const one = (await postForm(on, ATTACHMENTS, fileForm('12345'))).json;
    const two = (await postForm(on, DOCUMENTS, fileForm('two'))).json;
    expect((await on.admin('GET', '/uploads')).json).toEqual({ uploads: [one, two] });
    const path = `/uploads/${one.file_attachment_id}/content`;
    for (const [method, text] of [
      ['GET', '12345'],
      ['HEAD', ''],
    ] as const) {
      const response = await on.admin(method, path);
      expect([response.status, response.headers.get('content-length'), response.text]).toEqual([200, '5', text]);
    }
    expect((await on.admin('GET', '/uploads/att_0/content')).status).toBe(404);
    expect((await on.partner('GET', path)).status).toBe(404);
  });

  test.skipIf(!existsSync(DESCRIPTORS))('closes a file when its reader disconnects (needs /proc)', async () => {
    const on = await startTestSandbox();
    const { json } = await postForm(on, ATTACHMENTS, fileForm(Buffer.alloc(32 * MIB)));
    const id = json.file_attachment_id;
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${on.sandbox.adminKey}` };
    const response = await fetch(`${on.sandbox.adminUrl}/uploads/${id}/content`, { headers, signal: abort.signal });
    expect(response.status).toBe(200);
    expect(await openFiles(id)).toHaveLength(1);
    abort.abort();
    while ((await openFiles(id)).length > 0) await new Promise(setImmediate);
  });
});

test.skipIf(!existsSync(DESCRIPTORS))(
  'a file is closed and removed if reading its bytes fails (needs /proc)',
  async () => {
    const dataDir = tempDirectory();
    const files = new UploadFiles(dataDir);
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('x');
      throw new Error('connection lost');
    }
    await expect(files.write('att_1', chunks())).rejects.toThrow('connection lost');
    expect(openBelow(dataDir)).toEqual([]);
    expect(await readdir(join(dataDir, 'sandbox-uploads'))).toEqual([]);
  },
);
