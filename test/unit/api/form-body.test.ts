import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Busboy } from '@fastify/busboy';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FormPart, formBody } from '../../../src/api/form-body.ts';
import type { StreamedBody } from '../../../src/api/streamed-body.ts';
import { anyCharacter, propertyRuns } from '../../support/properties.ts';

function file(content: Uint8Array, filename = 'a.txt', name = 'file'): FormPart {
  return {
    name,
    filename,
    contentType: 'text/plain',
    bytes: content.length,
    async *content() {
      yield content;
    },
  };
}

async function bytesOf(body: StreamedBody, signal = new AbortController().signal): Promise<Buffer> {
  return await buffer(body.chunks(signal));
}

/** The undecoded Content-Disposition values in a body. */
async function dispositionsOf(parts: readonly FormPart[]): Promise<string[]> {
  const text = String(await bytesOf(formBody(parts)));
  return [...text.matchAll(/^Content-Disposition: (.*)$/gm)].map(([, value = '']) => value.trimEnd());
}

type ReadPart = readonly [name: string, text: string] | readonly [name: string, filename: string, content: string];

/** Parses a body with another implementation, which does not decode percent-encoded names. */
async function readBack({ contentType }: StreamedBody, body: Buffer): Promise<ReadPart[]> {
  const form = new Busboy({
    headers: { 'content-type': contentType },
    preservePath: true,
    limits: { fieldNameSize: 10_000, fieldSize: 100_000, headerPairs: 100 },
  });
  const parts: ReadPart[] = [];
  form.on('field', (name, value) => parts.push([name, String(value)]));
  form.on('file', (name, stream, filename) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => parts.push([name, filename, Buffer.concat(chunks).toString('hex')]));
  });
  await new Promise((resolve, reject) => {
    form.on('finish', resolve);
    form.on('error', reject);
    Readable.from([body]).pipe(form);
  });
  return parts;
}

/** The encoding of the HTML standard. */
function encoded(name: string): string {
  return name.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
}

describe('a form', () => {
  it('equals what a browser sends, byte for byte, and states its length', async () => {
    const body = formBody([{ name: 'kind', text: 'manual' }, file(Buffer.from('hello'))]);
    const [, boundary] = /^multipart\/form-data; boundary=([\w-]+)$/.exec(body.contentType) ?? [];
    const bytes = await bytesOf(body);
    expect(bytes.toString().split('\r\n')).toEqual([
      `--${boundary}`,
      'Content-Disposition: form-data; name="kind"',
      '',
      'manual',
      `--${boundary}`,
      'Content-Disposition: form-data; name="file"; filename="a.txt"',
      'Content-Type: text/plain',
      '',
      'hello',
      `--${boundary}--`,
      '',
    ]);
    expect(bytes.length).toBe(body.bytes);
    expect(body.formFields).toEqual(['kind', 'file']);
  });

  it.each([
    ['a"b.txt', 'a%22b.txt'],
    ['a"b\r\nX: y.txt', 'a%22b%0D%0AX: y.txt'],
    ['日本語.pdf', '日本語.pdf'],
    ['a\\b.txt', 'a\\b.txt'],
    ["a'b;c.txt", "a'b;c.txt"],
    ['100%.txt', '100%.txt'],
    ['../../x', '../../x'],
  ])('writes the name %j as %j', async (name, written) => {
    expect(await dispositionsOf([file(Buffer.from(''), name)])).toEqual([
      `form-data; name="file"; filename="${written}"`,
    ]);
    expect(await dispositionsOf([{ name, text: '' }])).toEqual([`form-data; name="${written}"`]);
  });

  it('withholds its end until it may be sent, and for ever if that fails', async () => {
    const ended = formBody([file(Buffer.from('hello'))], () => Promise.reject(new Error('Not this one.')));
    let taken = 0;
    const reading = async (): Promise<void> => {
      for await (const chunk of ended.chunks(new AbortController().signal)) taken += chunk.length;
    };
    await expect(reading()).rejects.toThrow('Not this one.');
    expect(taken).toBe(ended.bytes - ended.closingBytes);
  });

  it('does not ask for its end if the attempt is over', async () => {
    let asked = 0;
    const body = formBody([file(Buffer.from('hello'))], async () => {
      asked += 1;
    });
    expect((await bytesOf(body, AbortSignal.abort())).length).toBe(body.bytes - body.closingBytes);
    expect(asked).toBe(0);
  });

  const anyText = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.constantFrom('"', '\r', '\n', '%', '2', 'a', 'é', ';', '=', ' ', '日', '🎉', '/') }),
  );
  // The other implementation treats control characters and unusual spaces in names differently.
  const isPlain = (text: string): boolean =>
    text.trim() === text && text !== '' && text.isWellFormed() && !/[\p{Cc}\\]/u.test(text.replace(/[\r\n]/g, ''));
  const anyName = anyText.filter(isPlain);
  const anyContent = fc.oneof(
    fc.uint8Array({ maxLength: 3_000 }),
    fc.array(fc.constantFrom('\r\n', '--', 'partnerctl-', '-', '\r', '\n')).map((parts) => Buffer.from(parts.join(''))),
  );
  const anyPart = fc.oneof(
    fc.record({ name: anyName, text: anyText.filter((text) => text.isWellFormed()) }),
    fc.tuple(anyContent, anyName, anyName).map(([content, filename, name]) => file(content, filename, name)),
  );

  it('property: is parsed unchanged by another implementation', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPart, { minLength: 1, maxLength: 4 }), async (parts) => {
        const body = formBody(parts);
        const expected = parts.map(async (part) => {
          if ('text' in part) return [encoded(part.name), part.text];
          const content = await buffer(part.content(new AbortController().signal));
          return [encoded(part.name), encoded(part.filename), content.toString('hex')];
        });
        const read = await readBack(body, await bytesOf(body));
        expect(read.toSorted()).toEqual((await Promise.all(expected)).toSorted());
      }),
      { numRuns: propertyRuns(300) },
    );
  });
});
