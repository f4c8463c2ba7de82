import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Busboy } from '@fastify/busboy';
import { describe, expect, it } from 'vitest';
import { type FormPart, formBody } from '../../../src/api/form-body.ts';

function file(content: Uint8Array, filename: string): FormPart {
  return {
    name: 'file',
    filename,
    contentType: 'text/plain',
    bytes: content.length,
    async *content() {
      yield content;
    },
  };
}

const open = new AbortController().signal;

describe('a form', () => {
  it('equals what a browser sends, byte for byte, and states its length', async () => {
    const name = 'a"b\r\nX: y 日本語 100%.txt';
    const body = formBody([{ name: 'kind', text: 'manual' }, file(Buffer.from('hello'), name)]);
    const [, boundary] = /^multipart\/form-data; boundary=([\w-]+)$/.exec(body.contentType) ?? [];
    const bytes = await buffer(body.chunks(open));
    expect(bytes.toString().split('\r\n')).toEqual([
      `--${boundary}`,
      'Content-Disposition: form-data; name="kind"',
      '',
      'manual',
      `--${boundary}`,
      'Content-Disposition: form-data; name="file"; filename="a%22b%0D%0AX: y 日本語 100%.txt"',
      'Content-Type: text/plain',
      '',
      'hello',
      `--${boundary}--`,
      '',
    ]);
    expect(bytes.length).toBe(body.bytes);
  });

  it('is parsed unchanged by another implementation, whatever the file contains', async () => {
    const content = Buffer.concat([Buffer.from('\r\n--partnerctl-\r\n--'), Buffer.from([0, 255, 13, 10])]);
    const body = formBody([{ name: 'text', text: 'ä\r\n--' }, file(content, 'x.bin')]);
    const form = new Busboy({ headers: { 'content-type': body.contentType } });
    const parts: unknown[] = [];
    form.on('field', (name, value) => parts.push([name, value]));
    const read = new Promise<void>((resolve) => {
      form.on('file', async (name, stream, filename) => {
        parts.push([name, filename, (await buffer(stream)).toString('hex')]);
        resolve();
      });
    });
    Readable.from(body.chunks(open)).pipe(form);
    await read;
    expect(parts).toEqual([
      ['text', 'ä\r\n--'],
      ['file', 'x.bin', content.toString('hex')],
    ]);
  });

  it('withholds its end until it may be sent, for ever if that fails, and does not ask once the attempt is over', async () => {
    const content = file(Buffer.from('hello'), 'a.txt');
    const ended = formBody([content], () => Promise.reject(new Error('Not this one.')));
    let taken = 0;
    const reading = async (): Promise<void> => {
      for await (const chunk of ended.chunks(open)) taken += chunk.length;
    };
    await expect(reading()).rejects.toThrow('Not this one.');
    expect(taken).toBe(ended.bytes - ended.closingBytes);
    expect((await buffer(ended.chunks(AbortSignal.abort()))).length).toBe(taken);
  });
});
