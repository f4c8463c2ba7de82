import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDisposition } from '../../src/sandbox/uploads/disposition.ts';

/** A header's bytes, each as one character. */
function bytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** What browsers do to a name. */
function encoded(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** A browser's own escapes are the one thing that no name can hold as such. */
const names = fc.string({ unit: 'binary' }).filter((name) => !/%(22|0D|0A)/i.test(name) && name.isWellFormed());

test('a name that is encoded as browsers do is read as it was', () => {
  fc.assert(
    fc.property(names, names, (name, filename) => {
      const header = bytes(`form-data; name="${encoded(name)}"; filename="${encoded(filename)}"`);
      expect(parseDisposition(header)).toEqual({ name, filename });
      expect(parseDisposition(bytes(`form-data; name="${encoded(name)}"`))).toEqual({ name, filename: undefined });
    }),
  );
});

test.each([
  ['form-data; name=a', { name: 'a', filename: undefined }],
  ['Form-Data;name="a";FileName=b', { name: 'a', filename: 'b' }],
  ['form-data ; name="a" ; filename=""', { name: 'a', filename: '' }],
  ['form-data; filename="b"; size=7; name="a"', { name: 'a', filename: 'b' }],
  ['form-data; name="a%22%0d%0A%25"', { name: 'a"\r\n%25', filename: undefined }],
  ['form-data; name="a\\"; filename="b\\c"', { name: 'a\\', filename: 'b\\c' }],
  ['form-data', undefined],
  ['form-data; ', undefined],
  ['form-data; filename="b"', undefined],
  ['form-data; name="a"; name="b"', undefined],
  ['form-data; name="a', undefined],
  ['form-data; name="a"b', undefined],
  ['form-data; name=a b', undefined],
  ['form-data x; name="a"', undefined],
  ['attachment; name="a"', undefined],
  ['', undefined],
])('%j is read as %j', (header, expected) => {
  expect(parseDisposition(header)).toEqual(expected);
});
