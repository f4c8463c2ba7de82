import { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FileFormInput, fileForm } from '../../../src/upload/file-form.ts';
import { anyCharacter, propertyRuns } from '../../support/properties.ts';

const INPUT: FileFormInput = { filename: 'a.txt', bytes: 5, contentType: 'text/plain', fields: [] };

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

function bodyOf(input: FileFormInput, content: Uint8Array): { contentType: string; body: Buffer } {
  const { contentType, head, tail } = fileForm(input);
  return { contentType, body: Buffer.concat([head, content, tail]) };
}

/** The encoding of the HTML standard. */
function encoded(name: string): string {
  return name.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
}

/** The undecoded Content-Disposition values in a body. */
function dispositionsOf(input: FileFormInput): string[] {
  const head = Buffer.from(fileForm(input).head).toString();
  return [...head.matchAll(/^Content-Disposition: (.*)$/gm)].map(([, value = '']) => value.trimEnd());
}

describe('a multipart body', () => {
  it('equals what a browser sends, byte for byte', () => {
    const { contentType, body } = bodyOf({ ...INPUT, fields: [['kind', 'manual']] }, Buffer.from('hello'));
    const [, boundary] = /^multipart\/form-data; boundary=([\w-]+)$/.exec(contentType) ?? [];
    expect(body.toString().split('\r\n')).toEqual([
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
    expect(dispositionsOf({ ...INPUT, filename })).toEqual([`form-data; name="file"; filename="${written}"`]);
  });

  it('encodes the names of fields too, and leaves their values unchanged', () => {
    const input: FileFormInput = { ...INPUT, fields: [['a"\r\nb', 'v"\r\nw']] };
    expect(dispositionsOf(input)[0]).toBe('form-data; name="a%22%0D%0Ab"');
    expect(Buffer.from(fileForm(input).head).toString()).toContain('\r\n\r\nv"\r\nw\r\n--');
  });

  const anyText = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.constantFrom('"', '\r', '\n', '%', '2', 'a', 'é', ';', '=', ' ', '\\', '日', '🎉', '/') }),
  );
  const anyName = anyText.filter((text) => text.trim() !== '' && text.isWellFormed());
  const anyContent = fc.oneof(
    fc.uint8Array({ maxLength: 3_000 }),
    fc.array(fc.constantFrom('\r\n', '--', 'partnerctl-', '-', '\r', '\n')).map((parts) => Buffer.from(parts.join(''))),
  );

  it('property: is parsed unchanged by another implementation', async () => {
    // That one treats control characters and unusual spaces in names differently.
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
          const { contentType, body } = bodyOf({ ...INPUT, fields, filename }, content);
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
      { numRuns: propertyRuns(300) },
    );
  });
});
