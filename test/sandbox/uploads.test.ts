import { describe, expect, test } from 'vitest';
import { service } from '../support/service.ts';
import {
  ATTACHMENTS,
  BOUNDARY,
  DOCUMENTS,
  FORM_END,
  fileForm,
  MULTIPART,
  openConnection,
  partHead,
  postForm,
  sha256,
} from '../support/uploads.ts';

test.each([
  [DOCUMENTS, 'document_id', Buffer.alloc(0)],
  [ATTACHMENTS, 'file_attachment_id', Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--\r\n`)],
])('A file sent to %s arrives byte for byte, and again each time that it is sent', async (path, id, content) => {
  const on = await service();
  const { status, json } = await postForm(on, path, fileForm(content));
  expect([status, json]).toEqual([
    201,
    {
      [id]: expect.stringMatching(/^(doc|att)_/),
      filename: 'a.bin',
      content_type: 'text/plain',
      bytes: content.length,
      sha256: sha256(content),
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    },
  ]);
  const again = await postForm(on, path, fileForm(content));
  expect((await on.partner('GET', path)).json.results).toEqual([json, again.json]);
});

describe('a form', () => {
  const FILE = `${partHead('; name="file"; filename="a"')}x`;

  test.each([
    ['without a file', `${partHead('; name="f"')}x${FORM_END}`, 422, 'file: is required, as a file'],
    [
      'with the file in another field',
      `${partHead('; name="data"; filename="a"')}x${FORM_END}`,
      422,
      'file: is required, as a file',
    ],
    ['that ends within the file', FILE, 400, 'cannot be received as multipart/form-data'],
  ])('%s is refused', async (_, form, status, message) => {
    const on = await service();
    const response = await postForm(on, ATTACHMENTS, form);
    expect([response.status, response.json.error.message]).toEqual([status, expect.stringContaining(message)]);
    expect((await on.partner('GET', ATTACHMENTS)).json.count).toBe(0);
  });

  test('that is cut off in the middle leaves no record', async () => {
    const on = await service();
    const body = `${partHead('; name="file"; filename="a"')}${'x'.repeat(100_000)}`;
    const headers = `Host: localhost\r\nAuthorization: Bearer ${on.token}\r\nContent-Type: ${MULTIPART}\r\n`;
    const head = `POST /v1${ATTACHMENTS} HTTP/1.1\r\n${headers}Content-Length: 1000000\r\n\r\n`;
    const { socket } = openConnection(on, `${head}${body}`);
    await expect.poll(async () => (await on.admin('GET', '/requests')).json.requests).toHaveLength(1);
    socket.destroy();
    await expect.poll(async () => (await on.admin('GET', '/requests')).json.requests.at(-1)?.status).toBe(400);
    expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([]);
  });
});
