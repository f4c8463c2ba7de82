import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasty, type Ran, run, tempDirectory } from '../helpers/run.ts';
import { type Service, service, write } from '../helpers/service.ts';
import { contentOf, sha256 } from '../sandbox/uploading.ts';

interface Said {
  readonly file: string;
  readonly id: string | null;
  readonly status: string;
  readonly sha256: string | null;
}

interface Kept {
  readonly file_attachment_id?: string;
  readonly document_id?: string;
  readonly filename: string;
  readonly sha256: string;
  readonly fields: Record<string, unknown>;
}

interface Uploads extends Service {
  upload(words: readonly string[], stdin?: string): Promise<Ran>;
  kept(): Promise<readonly Kept[]>;
}

async function uploads(): Promise<Uploads> {
  const it = await service();
  const state = join(tempDirectory(), 'state.jsonl');
  return {
    ...it,
    upload: (words, stdin) =>
      run(['upload', ...words, '--state', state, '-o', 'json'], {
        env: it.env,
        random: hasty,
        ...(stdin !== undefined && { stdin }),
      }),
    kept: async () => (await it.admin('GET', '/uploads')).json.uploads,
  };
}

function statuses(ran: Ran): string[] {
  return ran.json<Said[]>().map(({ status }) => status);
}

describe('upload', () => {
  it('puts the bytes there, once, and says under which id', async () => {
    const it = await uploads();
    const path = write('a"b\r\n日本語.txt', 'hello');
    const first = await it.upload([path]);
    expect(first).toMatchObject({ code: 0, stderr: expect.any(String) });
    const [said] = first.json<Said[]>();
    expect(said).toMatchObject({ file: path, status: 'uploaded', sha256: sha256('hello') });
    expect(await it.kept()).toMatchObject([
      { file_attachment_id: said?.id, filename: 'a"b\r\n日本語.txt', sha256: sha256('hello') },
    ]);
    expect((await contentOf(it, said?.id ?? '')).toString()).toBe('hello');
    const again = await it.upload([path]);
    expect(again.json()).toMatchObject([{ status: 'skipped', id: said?.id }]);
    expect(await it.kept()).toHaveLength(1);
  });

  it('sends files of the same name and content once, however many at a time', async () => {
    const it = await uploads();
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
    const it = await uploads();
    const ran = await it.upload(['-', '--filename', '../../x', '--field', 'kind=a=b'], 'piped');
    expect(ran.json()).toMatchObject([{ file: '-', status: 'uploaded', sha256: sha256('piped') }]);
    expect(await it.kept()).toMatchObject([{ filename: '../../x', sha256: sha256('piped'), fields: { kind: 'a=b' } }]);
    expect(statuses(await it.upload(['-', '--filename', '../../x'], 'piped'))).toEqual(['skipped']);
  });

  it('makes a document out of a text', async () => {
    const it = await uploads();
    const text = 'Opening hours: "9" to 5\n日本語 🎉 \u2028';
    const ran = await it.upload(['--as', 'document', '--name', 'faq.md', '--text', text]);
    expect(ran.json()).toMatchObject([{ status: 'uploaded', sha256: sha256(text) }]);
    expect(await it.kept()).toMatchObject([{ name: 'faq.md', sha256: sha256(text) }]);
  });

  it('takes the same file as an attachment and as a document for two things', async () => {
    const it = await uploads();
    const path = write('a.txt', 'one');
    expect(statuses(await it.upload([path]))).toEqual(['uploaded']);
    expect(statuses(await it.upload([path, '--as', 'document']))).toEqual(['uploaded']);
    expect(await it.kept()).toHaveLength(2);
  });

  it('sends nothing where one of the files cannot be uploaded', async () => {
    const it = await uploads();
    const ran = await it.upload([write('a.txt', 'one'), join(tempDirectory(), 'none.txt')]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('none.txt');
    expect(await it.received()).toEqual([]);
  });

  it('only shows with --dry-run what it would do', async () => {
    const it = await uploads();
    const [one, two] = [write('a.txt', 'one'), write('b.txt', 'two')];
    await it.upload([one]);
    await it.forget();
    expect(statuses(await it.upload([one, two, '--dry-run']))).toEqual(['skipped', 'planned']);
    expect(await it.received()).toEqual([]);
  });
});
