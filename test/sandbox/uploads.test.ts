import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  ATTACHMENTS,
  BOUNDARY,
  DOCUMENTS,
  downloadContent,
  FORM_END,
  fileForm,
  partHead,
  postForm,
  rawPost,
  sha256,
  waitForLoggedRequest,
} from '../support/forms.ts';
import { tempDirectory } from '../support/run.ts';
import { startTestSandbox } from '../support/service.ts';

const MIB = 1024 * 1024;

describe.each([
  [DOCUMENTS, 'document_id', 'name', /^doc_/],
  [ATTACHMENTS, 'file_attachment_id', 'filename', /^att_/],
] as const)('an upload to %s', (path, idField, nameField, idShape) => {
  test.each([
    ['0 bytes', Buffer.alloc(0)],
    ['what looks like a boundary', Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--\r\n`)],
    ['1 MiB of random bytes', randomBytes(MIB)],
  ])('of %s keeps every byte', async (_, content) => {
    const on = await startTestSandbox();
    const { status, json } = await postForm(on, path, fileForm(content));
    expect([status, json]).toEqual([
      201,
      {
        [idField]: expect.stringMatching(idShape),
        [nameField]: 'a.bin',
        content_type: 'text/plain',
        bytes: content.length,
        sha256: sha256(content),
        fields: {},
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ]);
    expect((await downloadContent(on, json[idField])).equals(content)).toBe(true);
  });

  test('of the same file creates another one; each is listed', async () => {
    const on = await startTestSandbox();
    const uploads = [];
    for (let count = 0; count < 3; count += 1) uploads.push((await postForm(on, path, fileForm('same'))).json);
    expect(new Set(uploads.map((each) => each[idField])).size).toBe(3);
    const first = (await on.partner('GET', `${path}?page_size=2`)).json;
    expect([first.count, first.results]).toEqual([3, uploads.slice(0, 2)]);
  });
});

describe('a file', () => {
  test.each(['a"b\r\nX: y.txt', '日本語.pdf', '../../x'])(
    'named %j keeps its name when it is encoded as in browsers',
    async (name) => {
      const on = await startTestSandbox();
      const form = new FormData();
      form.append('label', 'eins\r\nzwei');
      form.append('file', new Blob(['x'], { type: 'text/csv' }), name);
      form.append('label', 'ü');
      const encoded = new Response(form);
      const type = encoded.headers.get('content-type') ?? '';
      const { json } = await postForm(on, ATTACHMENTS, new Uint8Array(await encoded.arrayBuffer()), type);
      expect(json).toMatchObject({
        filename: name,
        content_type: 'text/csv',
        fields: { label: ['eins\r\nzwei', 'ü'] },
      });
    },
  );

  test('is in the log of requests only with its length and hash', async () => {
    const on = await startTestSandbox();
    await postForm(on, DOCUMENTS, fileForm('secret'));
    const { text, json } = await on.admin('GET', '/requests');
    expect(json.requests.map(({ body }: { body: unknown }) => body)).toEqual([{ bytes: 6, sha256: sha256('secret') }]);
    expect(text).not.toContain('"secret"');
  });
});

describe('a document', () => {
  test('may be JSON, and is then a text file', async () => {
    const on = await startTestSandbox();
    const { status, json } = await on.partner('POST', DOCUMENTS, { body: { name: 'Prices', content: '1 € ' } });
    expect([status, json]).toEqual([
      201,
      expect.objectContaining({ name: 'Prices', content_type: 'text/plain; charset=utf-8', bytes: 6, fields: {} }),
    ]);
    expect((await downloadContent(on, json.document_id)).toString()).toBe('1 € ');
    expect((await on.partner('POST', ATTACHMENTS, { body: { name: 'n', content: 'x' } })).status).toBe(415);
  });

  test('and an attachment are limited by the settings', async () => {
    const on = await startTestSandbox();
    await on.admin('PATCH', '/settings', { max_document_bytes: 5, max_file_attachment_bytes: 4 });
    const sent = [
      await postForm(on, DOCUMENTS, fileForm('12345')),
      await postForm(on, DOCUMENTS, fileForm('123456')),
      await postForm(on, ATTACHMENTS, fileForm('1234')),
      await postForm(on, ATTACHMENTS, fileForm('12345')),
      await postForm(on, ATTACHMENTS, fileForm('x'.repeat(100_000))),
    ];
    expect(sent.map(({ status }) => status)).toEqual([201, 413, 201, 413, 413]);
  });
});

describe('a form', () => {
  const FILE = `${partHead('; name="file"; filename="a"')}x`;
  const FIELD = `${partHead('; name="f"')}x`;

  test.each([
    ['without a file', FIELD, 422, 'file is required'],
    ['with two files', `${FILE}\r\n${FILE}`, 422, 'file must appear only once'],
    ['with the file in another field', `${partHead('; name="data"; filename="a"')}x`, 422, 'data is not a known field'],
    ['with an unnamed field', `${partHead('')}x`, 400, 'a field has no name'],
    ['with text in the file field', `${partHead('; name="file"')}x`, 422, 'file must be a file'],
    ['with a file without a name', `${partHead('; name="file"; filename=""')}x`, 422, 'file must have a filename'],
  ])('%s is refused', async (_, parts, status, message) => {
    const on = await startTestSandbox();
    const response = await postForm(on, ATTACHMENTS, `${parts}${FORM_END}`);
    expect([response.status, response.json.error.message]).toEqual([status, expect.stringContaining(message)]);
    expect((await on.partner('GET', ATTACHMENTS)).json.count).toBe(0);
  });

  test.each([
    ['nothing', ''],
    ['a form that ends within the file', FILE],
    ['a form that ends within the last boundary', `${FILE}${FORM_END.slice(0, -3)}`],
  ])('of %s is refused as malformed', async (_, body) => {
    const on = await startTestSandbox();
    const { status, json } = await postForm(on, ATTACHMENTS, body);
    expect([status, json.error.message]).toEqual([400, expect.stringContaining('ends before its last boundary')]);
  });

  test.each([
    ['text/plain', 415],
    ['multipart/form-data', 400],
    [`multipart/form-data; charset=utf-8; boundary="${BOUNDARY}"`, 201],
  ])('with the content type %s gets %i', async (type, status) => {
    expect((await postForm(await startTestSandbox(), ATTACHMENTS, fileForm('x'), type)).status).toBe(status);
  });

  test('that is cut off in the middle leaves neither a record nor a file', async () => {
    const dataDir = join(tempDirectory(), 'data');
    const on = await startTestSandbox({ dataDir });
    const body = `${partHead('; name="file"; filename="a"')}${'x'.repeat(100_000)}`;
    const { socket } = rawPost(on, ATTACHMENTS, 'Content-Length: 1000000', body);
    await expect.poll(() => readdirSync(join(dataDir, 'sandbox-uploads'))).toHaveLength(1);
    socket.destroy();
    await waitForLoggedRequest(on, ({ status }) => status === 400);
    expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([]);
    expect(readdirSync(join(dataDir, 'sandbox-uploads'))).toEqual([]);
  });
});
