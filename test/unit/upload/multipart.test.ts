import { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type MultipartParts, multipartFrame } from '../../../src/upload/upload-source.ts';

const PARTS: MultipartParts = {
  fields: [],
  field: 'file',
  filename: 'a.txt',
  contentType: 'text/plain',
  boundary: 'x-boundary-x',
};

interface ReadBack {
  readonly fields: readonly (readonly [string, string])[];
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  readonly content: Buffer;
}

/** Parses a body with another implementation, which does not decode percent-encoded names. */
async function readBack(contentType: string, body: Buffer): Promise<ReadBack> {
  const form = new Busboy({
    headers: { 'content-type': contentType },
    preservePath: true,
    limits: { fieldNameSize: 10_000, fieldSize: 100_000, headerPairs: 100 },
  });
  const fields: (readonly [string, string])[] = [];
  const files: { field: string; filename: string; contentType: string }[] = [];
  const chunks: Buffer[] = [];
  form.on('field', (name, value) => fields.push([name, String(value)]));
  form.on('file', (field, stream, filename, _encoding, type) => {
    files.push({ field, filename, contentType: type });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  });
  await new Promise((resolve, reject) => {
    form.on('finish', resolve);
    form.on('error', reject);
    Readable.from([body]).pipe(form);
  });
  const [file, ...more] = files;
  if (!file || more.length > 0) throw new Error(`${files.length} files in place of one`);
  return { ...file, fields, content: Buffer.concat(chunks) };
}

function bodyOf(parts: MultipartParts, content: Uint8Array): { contentType: string; body: Buffer } {
  const { contentType, head, tail } = multipartFrame(parts);
  return { contentType, body: Buffer.concat([head, content, tail]) };
}

/** The encoding of the HTML standard. */
function encoded(name: string): string {
  return name.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
}

/** The undecoded Content-Disposition values in the head of a body. */
function dispositionsOf(parts: MultipartParts): string[] {
  const head = Buffer.from(multipartFrame(parts).head).toString();
  return [...head.matchAll(/^Content-Disposition: (.*)$/gm)].map(([, value = '']) => value.trimEnd());
}

describe('a multipart body', () => {
  it('equals what a browser sends, byte for byte', () => {
    const { contentType, body } = bodyOf({ ...PARTS, fields: [['kind', 'manual']] }, Buffer.from('hello'));
    expect(contentType).toBe('multipart/form-data; boundary=x-boundary-x');
    expect(body.toString().split('\r\n')).toEqual([
      '--x-boundary-x',
      'Content-Disposition: form-data; name="kind"',
      '',
      'manual',
      '--x-boundary-x',
      'Content-Disposition: form-data; name="file"; filename="a.txt"',
      'Content-Type: text/plain',
      '',
      'hello',
      '--x-boundary-x--',
      '',
    ]);
  });

  it.each([
    ['a"b.txt', 'a%22b.txt'],
    ['a"b\r\nX: y.txt', 'a%22b%0D%0AX: y.txt'],
    ['a\rb\nc', 'a%0Db%0Ac'],
    ['日本語.pdf', '日本語.pdf'],
    ['Grüße 🎉.txt', 'Grüße 🎉.txt'],
    ['a\\b.txt', 'a\\b.txt'],
    ["a'b;c.txt", "a'b;c.txt"],
    ['100%.txt', '100%.txt'],
    ['../../x', '../../x'],
    [' ', ' '],
  ])('writes the name %j as %j', (filename, written) => {
    expect(dispositionsOf({ ...PARTS, filename })).toEqual([`form-data; name="file"; filename="${written}"`]);
  });

  it('keeps the parameters of a content type in the header of the part', () => {
    const head = Buffer.from(multipartFrame({ ...PARTS, contentType: 'text/csv; charset=utf-8; header=present' }).head);
    expect(head.toString()).toContain('\r\nContent-Type: text/csv; charset=utf-8; header=present\r\n\r\n');
  });

  it('encodes the names of fields too, and leaves their values alone', () => {
    const parts = { ...PARTS, fields: [['a"\r\nb', 'v"\r\nw']] as const };
    expect(dispositionsOf(parts)[0]).toBe('form-data; name="a%22%0D%0Ab"');
    expect(Buffer.from(multipartFrame(parts).head).toString()).toContain('\r\n\r\nv"\r\nw\r\n--');
  });

  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', '\r', '\n', '%', '2', 'a', 'é', ';', '=', ' ', '\\', '日', '🎉', '/') }),
  );
  const anyName = anyText.filter((text) => text.trim() !== '' && text.isWellFormed());
  const anyContent = fc.oneof(
    fc.uint8Array({ maxLength: 3_000 }),
    fc
      .array(fc.constantFrom('\r\n', '--', 'x-boundary', '-', '\r', '\n', '--x-boundary--'))
      .map((parts) => Buffer.from(parts.join('')))
      // These parts can make up the boundary itself, which a random one is never found in.
      .filter((content) => !content.includes(PARTS.boundary)),
  );

  it('property: is parsed unchanged by another implementation', async () => {
    // It treats control characters and unusual spaces in names in its own way.
    const plain = (text: string): boolean => text.trim() === text && !/[\p{Cc}\\]/u.test(text.replace(/[\r\n]/g, ''));
    const anyField = fc.tuple(
      anyName.filter(plain),
      anyText.filter((value) => value.isWellFormed()),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyField, { maxLength: 4 }),
        anyName.filter(plain),
        anyContent,
        async (fields, filename, content) => {
          const { contentType, body } = bodyOf({ ...PARTS, fields, filename }, content);
          const read = await readBack(contentType, body);
          expect(read.fields).toEqual(fields.map(([name, value]) => [encoded(name), value]));
          expect({ ...read, fields: [] }).toEqual({
            fields: [],
            field: 'file',
            filename: encoded(filename),
            contentType: 'text/plain',
            content: Buffer.from(content),
          });
        },
      ),
      { numRuns: 300 },
    );
  });

  it('escapes names as browsers do, so that they can be read back whatever they hold', () => {
    // Browsers do not escape the percent sign: a name that holds one of the escapes cannot be told from its meaning.
    const isUnambiguous = (text: string): boolean => !/%22|%0D|%0A/i.test(text);
    fc.assert(
      fc.property(anyName.filter(isUnambiguous), (filename) => {
        const head = Buffer.from(multipartFrame({ ...PARTS, filename }).head).toString();
        const disposition = head.slice(head.indexOf('form-data'), head.indexOf('\r\nContent-Type'));
        const [, name = ''] = /^form-data; name="file"; filename="([^"\r\n]*)"$/.exec(disposition) ?? [];
        expect(name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')).toBe(filename);
      }),
    );
  });
});
