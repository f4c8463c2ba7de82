import { describe, expect, test } from 'vitest';
import { startTestSandbox } from './client.ts';
import { ATTACHMENTS, BOUNDARY, FORM_END, fileForm, partHead, postForm, sha256 } from './uploads.ts';

describe('a form', () => {
  const FILE = `${partHead('; name="file"; filename="a"')}x`;
  test.each([
    ['without a file', `${partHead('; name="label"')}x`, 422, 'file is required'],
    ['with two files', `${FILE}\r\n${FILE}`, 422, 'file must be there once'],
    ['with the file in another field', `${partHead('; name="data"; filename="a"')}x`, 422, 'data must not be a file'],
    ['with a text for a file', `${partHead('; name="file"')}x`, 422, 'file must be a file'],
    ['with a file without a name', `${partHead('; name="file"; filename=""')}x`, 422, 'file must have a filename'],
    ['with a part that is not named', `${partHead('; filename="a"')}x`, 400, 'Content-Disposition'],
    ['with a part that says nothing', `--${BOUNDARY}\r\n\r\nx`, 400, 'Content-Disposition'],
    ['with a name that is not closed', `${partHead('; name="file')}x`, 400, 'Content-Disposition'],
    [
      'with a part that ends in its headers',
      `--${BOUNDARY}\r\nContent-Type: a/b\r\n${FILE}`,
      400,
      'within its headers',
    ],
    [
      'with 101 fields',
      Array(101)
        .fill(`${partHead('; name="f"')}x`)
        .join('\r\n'),
      422,
      'at most 100 fields',
    ],
    ['with a field of 70 kB', `${partHead('; name="f"')}${'x'.repeat(70_000)}`, 413, 'The fields are larger'],
  ])('%s is refused', async (_, parts, status, message) => {
    const on = await startTestSandbox();
    const answer = await postForm(on, ATTACHMENTS, `${parts}${FORM_END}`);
    expect([answer.status, answer.json.error.message]).toEqual([status, expect.stringContaining(message)]);
    expect((await on.partner('GET', ATTACHMENTS)).json.count).toBe(0);
  });

  test.each([
    ['of nothing', '', 'ends before its last boundary'],
    ['that is no form', 'x', 'ends before its last boundary'],
    ['that ends within the file', `${FILE}`, 'ends before its last boundary'],
    ['that ends within the headers', partHead('; name="file"').slice(0, -9), 'ends before its last boundary'],
    ['that ends within the last boundary', `${FILE}${FORM_END.slice(0, -3)}`, 'ends before its last boundary'],
    ['of no parts', FORM_END, 'file is required'],
  ])('%s is refused', async (_, body, message) => {
    const on = await startTestSandbox();
    const answer = await postForm(on, ATTACHMENTS, body);
    expect([answer.status, answer.json?.error.message]).toEqual([
      message.includes('required') ? 422 : 400,
      expect.stringContaining(message),
    ]);
    expect((await on.partner('GET', ATTACHMENTS)).json.count).toBe(0);
  });

  test('may be followed by anything', async () => {
    const { status, json } = await postForm(
      await startTestSandbox(),
      ATTACHMENTS,
      `before\r\n${FILE}${FORM_END}${'after'.repeat(9_000)}`,
    );
    expect([status, json.sha256]).toEqual([201, sha256('x')]);
  });

  test('with a file name that is not UTF-8 is refused', async () => {
    const on = await startTestSandbox();
    const body = Buffer.from(`${partHead('; name="file"; filename="ÿ"')}x${FORM_END}`, 'latin1');
    const { status, json } = await postForm(on, ATTACHMENTS, body);
    expect([status, json.error.code]).toEqual([400, 'malformed_multipart']);
  });

  test.each([
    ['text/plain', 415, 'unsupported_media_type'],
    ['multipart/mixed; boundary=b', 415, 'unsupported_media_type'],
    ['multipart/form-data', 400, 'malformed_multipart'],
    [`multipart/form-data; boundary=${'b'.repeat(71)}`, 400, 'malformed_multipart'],
  ])('of the type %s is refused', async (type, status, code) => {
    const answer = await postForm(await startTestSandbox(), ATTACHMENTS, fileForm('x'), type);
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
  });

  test('may have its boundary in quotation marks', async () => {
    const type = `multipart/form-data; charset=utf-8; boundary="${BOUNDARY}"`;
    expect((await postForm(await startTestSandbox(), ATTACHMENTS, fileForm('x'), type)).status).toBe(201);
  });
});
