import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Ran, tempDirectory } from '../helpers/run.ts';
import { write } from '../helpers/service.ts';
import { downloadContent, sha256 } from '../sandbox/uploads.ts';
import { type UploadAnswer, uploads } from './uploads.ts';

const LARGE = 20_000_000;

/** What this process has read and written so far. */
const OWN_IO = '/proc/self/io';

function bytesRead(): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync(OWN_IO, 'utf8'))?.[1]);
}

/** A service, and uploads to it that answer in JSON. */
async function uploadsInJson() {
  const it = await uploads();
  return {
    ...it,
    upload: (words: readonly string[], stdin?: string) =>
      it.upload([...words, '-o', 'json'], stdin === undefined ? {} : { stdin }),
  };
}

function statuses(ran: Ran): string[] {
  return ran.json<UploadAnswer[]>().map(({ status }) => status);
}

describe('upload', () => {
  it('puts the bytes there, once, and says under which id', async () => {
    const it = await uploadsInJson();
    const path = write('a"b\r\n日本語.txt', 'hello');
    const first = await it.upload([path]);
    expect(first).toMatchObject({ code: 0, stderr: expect.any(String) });
    const [said] = first.json<UploadAnswer[]>();
    expect(said).toMatchObject({ file: path, status: 'uploaded', sha256: sha256('hello') });
    expect(await it.kept()).toMatchObject([
      { file_attachment_id: said?.id, filename: 'a"b\r\n日本語.txt', sha256: sha256('hello') },
    ]);
    expect((await downloadContent(it, said?.id ?? '')).toString()).toBe('hello');
    const again = await it.upload([path]);
    expect(again.json()).toMatchObject([{ status: 'skipped', id: said?.id }]);
    expect(await it.kept()).toHaveLength(1);
  });

  it('sends files of the same name and content once, however many at a time', async () => {
    const it = await uploadsInJson();
    const directory = tempDirectory();
    for (let index = 0; index < 12; index += 1) {
      mkdirSync(join(directory, `d${index}`));
      writeFileSync(join(directory, `d${index}`, '__init__.py'), '');
      writeFileSync(join(directory, `d${index}`, 'x.txt'), index % 2 === 0 ? 'even' : 'odd!');
    }
    const ran = await it.upload([directory, '-r', '--concurrency', '8']);
    expect({ code: ran.code, statuses: statuses(ran).toSorted() }).toEqual({
      code: 0,
      statuses: [...Array.from({ length: 21 }, () => 'skipped'), 'uploaded', 'uploaded', 'uploaded'],
    });
    expect(await it.kept()).toHaveLength(3);
  });

  it('keeps standard input under the name that is given', async () => {
    const it = await uploadsInJson();
    const ran = await it.upload(['-', '--filename', '../../x', '--field', 'kind=a=b'], 'piped');
    expect(ran.json()).toMatchObject([{ file: '-', status: 'uploaded', sha256: sha256('piped') }]);
    expect(await it.kept()).toMatchObject([{ filename: '../../x', sha256: sha256('piped'), fields: { kind: 'a=b' } }]);
    expect(statuses(await it.upload(['-', '--filename', '../../x'], 'piped'))).toEqual(['skipped']);
  });

  it('makes a document from a text', async () => {
    const it = await uploadsInJson();
    const text = 'Opening hours: "9" to 5\n日本語 🎉 \u2028';
    const ran = await it.upload(['--as', 'document', '--name', 'faq.md', '--text', text]);
    expect(ran.json()).toMatchObject([{ status: 'uploaded', sha256: sha256(text) }]);
    expect(await it.kept()).toMatchObject([{ name: 'faq.md', sha256: sha256(text) }]);
  });

  it('takes a text from a file or standard input, too', async () => {
    const it = await uploadsInJson();
    const document = ['--as', 'document', '--name', 'faq.md', '--text'];
    await it.upload([...document, `@${write('faq.txt', 'from a file')}`]);
    await it.upload([...document, '-'], 'piped');
    expect(await it.kept()).toMatchObject([{ sha256: sha256('from a file') }, { sha256: sha256('piped') }]);
    expect((await it.upload([...document, '@'])).code).toBe(2);
  });

  it.skipIf(!existsSync(OWN_IO))('does not read files again that share name and length (needs /proc)', async () => {
    const it = await uploadsInJson();
    const paths = ['a', 'b'].map(() => write('large.bin', ''));
    for (const path of paths) truncateSync(path, LARGE);
    expect(statuses(await it.upload(paths)).toSorted()).toEqual(['skipped', 'uploaded']);
    const before = bytesRead();
    expect(statuses(await it.upload(paths))).toEqual(['skipped', 'skipped']);
    expect(bytesRead() - before).toBeLessThan(LARGE);
  });

  it.skipIf(!existsSync(OWN_IO))('reads no namesake after a 402 (needs /proc)', async () => {
    const it = await uploadsInJson();
    const paths = Array.from({ length: 6 }, () => write('large.bin', ''));
    for (const path of paths) truncateSync(path, LARGE);
    await it.faults({ kind: 'status', status: 402, on: 'POST' });
    const before = bytesRead();
    const ran = await it.upload([...paths, '--concurrency', '1']);
    expect({ code: ran.code, statuses: statuses(ran) }).toEqual({ code: 6, statuses: paths.map(() => 'failed') });
    // The first one once to be known and once to be sent, and what the service's side reads of it.
    expect(bytesRead() - before).toBeLessThan(4 * LARGE);
  });

  it('says that fields and a type do not change what is there', async () => {
    const it = await uploadsInJson();
    const path = write('a.txt', 'one');
    await it.upload([path]);
    const again = await it.upload([path, '--field', 'kind=manual']);
    expect(statuses(again)).toEqual(['skipped']);
    expect(again.stderr).toMatch(/Skipped files keep the fields .* add --force/);
    expect((await it.upload([path])).stderr).toBe('');
    expect((await it.upload([write('b.txt', 'two'), '--field', 'kind=manual'])).stderr).toBe('');
  });

  it('takes the same file as an attachment and as a document for two things', async () => {
    const it = await uploadsInJson();
    const path = write('a.txt', 'one');
    expect(statuses(await it.upload([path]))).toEqual(['uploaded']);
    expect(statuses(await it.upload([path, '--as', 'document']))).toEqual(['uploaded']);
    expect(await it.kept()).toHaveLength(2);
  });

  it('sends nothing where one of the files cannot be uploaded', async () => {
    const it = await uploadsInJson();
    const ran = await it.upload([write('a.txt', 'one'), join(tempDirectory(), 'none.txt')]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('none.txt');
    expect(await it.received()).toEqual([]);
  });

  it('only shows with --dry-run what it would do', async () => {
    const it = await uploadsInJson();
    const [one, two] = [write('a.txt', 'one'), write('b.txt', 'two')];
    await it.upload([one]);
    await it.forget();
    expect(statuses(await it.upload([one, two, '--dry-run']))).toEqual(['skipped', 'planned']);
    expect(await it.received()).toEqual([]);
  });
});
