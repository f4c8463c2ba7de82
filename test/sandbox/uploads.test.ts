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

test.each([
  [DOCUMENTS, 'document_id', 'name', Buffer.alloc(0)],
  [ATTACHMENTS, 'file_attachment_id', 'filename', Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--\r\n`)],
])('A file sent to %s is kept byte for byte, and again each time that it is sent', async (path, id, name, content) => {
  const on = await startTestSandbox();
  const { status, json } = await postForm(on, path, fileForm(content));
  expect([status, json]).toEqual([
    201,
    {
      [id]: expect.stringMatching(/^(doc|att)_/),
      [name]: 'a.bin',
      content_type: 'text/plain',
      bytes: content.length,
      sha256: sha256(content),
      fields: [],
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    },
  ]);
  expect((await downloadContent(on, json[id])).equals(content)).toBe(true);
  const again = await postForm(on, path, fileForm(content));
  expect((await on.partner('GET', path)).json.results).toEqual([json, again.json]);
});

test('The log of requests has only the length and the hash of a file', async () => {
  const on = await startTestSandbox();
  await postForm(on, DOCUMENTS, fileForm('secret'));
  const { text, json } = await on.admin('GET', '/requests');
  expect(json.requests[0].body).toEqual({ bytes: 6, sha256: sha256('secret') });
  expect(text).not.toContain('"secret"');
});

describe('a form', () => {
  const FILE = `${partHead('; name="file"; filename="a"')}x`;

  test.each([
    ['without a file', `${partHead('; name="f"')}x${FORM_END}`, 422, 'file is required, as a file'],
    ['with two files', `${FILE}\r\n${FILE}${FORM_END}`, 422, 'file must appear only once'],
    [
      'with the file in another field',
      `${partHead('; name="data"; filename="a"')}x${FORM_END}`,
      422,
      'data must not be a file',
    ],
    ['that ends within the file', FILE, 400, 'cannot be received as multipart/form-data'],
  ])('%s is refused', async (_, form, status, message) => {
    const on = await startTestSandbox();
    const response = await postForm(on, ATTACHMENTS, form);
    expect([response.status, response.json.error.message]).toEqual([status, expect.stringContaining(message)]);
    expect((await on.partner('GET', ATTACHMENTS)).json.count).toBe(0);
  });

  test('that is cut off in the middle leaves neither a record nor a file', async () => {
    const dataDir = join(tempDirectory(), 'data');
    const on = await startTestSandbox({ dataDir });
    const files = () => readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((name) => /att_/.test(name));
    const body = `${partHead('; name="file"; filename="a"')}${'x'.repeat(100_000)}`;
    const { socket } = rawPost(on, ATTACHMENTS, 'Content-Length: 1000000', body);
    await expect.poll(files).toHaveLength(1);
    socket.destroy();
    await waitForLoggedRequest(on, ({ status }) => status === 400);
    expect((await on.admin('GET', '/uploads')).json.uploads).toEqual([]);
    expect(files()).toEqual([]);
  });
});
