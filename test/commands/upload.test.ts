import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { InterruptedError } from '../../src/errors.ts';
import { sendJson, startFakeService } from '../support/fake-service.ts';
import { ATTACHMENTS, downloadContent, sha256 } from '../support/forms.ts';
import { manualSignals, type Ran, run, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';
import { readState } from '../support/state-file.ts';
import { type UploadAnswer, uploads } from '../support/uploads.ts';

function statuses(ran: Ran): string[] {
  return ran.json<UploadAnswer[]>().map(({ status }) => status);
}

describe('upload', () => {
  test('sends a file as a form and prints the documented JSON', async () => {
    const it = await uploads();
    const bytes = Buffer.from([0, 255, 13, 10, 45, 45, 120]);
    const file = write('report.pdf', bytes, it.directory);
    const ran = await it.upload([file, '-o', 'json', '-q']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const [kept] = await it.kept();
    const id = kept?.file_attachment_id ?? '';
    expect(ran.json()).toEqual([
      { file, as: 'attachment', id, bytes: 7, sha256: sha256(bytes), status: 'uploaded', error: null },
    ]);
    expect(kept).toMatchObject({ filename: 'report.pdf', content_type: 'application/pdf', bytes: 7, fields: [] });
    expect(await downloadContent(it, id)).toEqual(bytes);
    expect((await it.posts()).map(({ path }) => path)).toEqual([`/v1${ATTACHMENTS}`]);
  });

  test('prints the same results in every format', async () => {
    const it = await uploads();
    const file = write('a.txt', 'a', it.directory);
    const [json, ndjson, yaml, tsv, table, query] = [
      await it.upload([file, '-o', 'json']),
      await it.upload([file, '-o', 'ndjson']),
      await it.upload([file, '-o', 'yaml']),
      await it.upload([file, '-o', 'tsv']),
      await it.upload([file, '-o', 'table', '--wide', '--color', 'never'], { columns: 200 }),
      await it.upload([file, '--query', '[].id | [0]', '-o', 'tsv']),
    ];
    const [first] = json.json<UploadAnswer[]>();
    const again = { ...first, status: 'skipped' };
    expect(JSON.parse(ndjson.stdout)).toEqual(again);
    expect(parseYaml(yaml.stdout)).toEqual([again]);
    expect(tsv.stdout).toBe(`${first?.id}\tskipped\t${file}\t1\t${sha256('a')}\n`);
    const [heading, row] = table.stdout.split('\n');
    expect(heading).toMatch(/^ID +STATUS +FILE +BYTES +SHA-256$/);
    expect(row?.split(/ +/)).toEqual([first?.id, 'skipped', file, '1', sha256('a')]);
    expect(table.stderr).toBe('1 skipped.\n');
    expect(query.stdout).toBe(`${first?.id}\n`);
    expect(await it.kept()).toHaveLength(1);
  });

  test('prints results in the order of the arguments, whichever file finishes first', async () => {
    const it = await uploads();
    const files = ['c', 'a', 'b', 'd'].map((name) => write(name, name, it.directory));
    await it.faults({ kind: 'delay', ms: 200, on: 'POST', times: 1 });
    const ran = await it.upload([...files, '-o', 'json']);
    expect(ran.json<UploadAnswer[]>().map(({ file }) => file)).toEqual(files);
  });

  test.each([0, 1, 262_143, 262_144, 262_145])('uploads a file of %i bytes', async (bytes) => {
    const it = await uploads();
    const content = Buffer.alloc(bytes, 'abcdefg');
    const ran = await it.upload([write('x', content, it.directory), '-o', 'json']);
    expect(ran.code).toBe(0);
    expect(await it.kept()).toMatchObject([{ bytes, sha256: sha256(content) }]);
    expect(ran.json()).toMatchObject([{ bytes, sha256: sha256(content) }]);
  });

  test('sends documents and content types', async () => {
    const it = await uploads();
    const file = write('notes.md', '# Notes', it.directory);
    const one = await it.upload([file, '--as', 'document', '-o', 'json']);
    expect(one.json()).toMatchObject([{ as: 'document', status: 'uploaded', id: expect.stringMatching(/^doc_/) }]);
    const two = await it.upload([file, '--content-type', 'text/plain; charset=utf-8']);
    expect(two.code).toBe(0);
    const three = await it.upload([write('blob', 'x', it.directory)]);
    expect(three.code).toBe(0);
    expect(await it.kept()).toMatchObject([
      { name: 'notes.md', content_type: 'text/markdown' },
      { filename: 'notes.md', content_type: 'text/plain' },
      { filename: 'blob', content_type: 'application/octet-stream' },
    ]);
  });

  test('is sent under a name with brackets, as the hint of the refusal says', async () => {
    const service = await startFakeService(({ body }, response) =>
      body.includes('name="files[]"')
        ? sendJson(response, { file_attachment_id: 'f1' }, 201)
        : sendJson(response, { errors: [{ field: 'files[]', message: 'is required' }] }, 422),
    );
    const home = tempDirectory();
    const options = { env: { PARTNER_BASE_URL: service.baseUrl, PARTNER_TOKEN: 'a-token-of-a-test', HOME: home } };
    const upload = () => run(['upload', write('a.txt', 'a', home), '-o', 'json'], options);
    const [, leaf = '', value = ''] =
      /partnerctl contract set (\S+) '(\S+)'/.exec((await upload()).error().hint ?? '') ?? [];
    expect([leaf, value]).toEqual(['file_attachments.create.file', 'form:files[]']);
    expect((await run(['contract', 'set', leaf, value], options)).code).toBe(0);
    expect((await upload()).json()).toMatchObject([{ id: 'f1', status: 'uploaded' }]);
  });

  test('uploads standard input under --filename and leaves no temporary file', async () => {
    const it = await uploads();
    // The shared directory may have temporary files of tests in other processes.
    const temporary = tempDirectory();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const args = ['-', '--filename', 'dump.sql', '-o', 'json'];
    const ran = await it.upload(args, { stdin: 'select 1;' });
    expect(ran.json()).toMatchObject([{ file: '-', bytes: 9, sha256: sha256('select 1;'), status: 'uploaded' }]);
    expect(await it.kept()).toMatchObject([{ filename: 'dump.sql', content_type: 'application/sql' }]);
    expect((await it.upload(args, { stdin: 'select 1;' })).json()).toMatchObject([{ status: 'skipped' }]);
    expect((await it.upload(args, { stdin: 'select 2;' })).json()).toMatchObject([{ status: 'uploaded' }]);
    const left = readdirSync(temporary, { recursive: true, encoding: 'utf8' });
    expect(left.filter((name) => name.includes('partnerctl-upload-'))).toEqual([]);
  });

  test('records the id of each file', async () => {
    const it = await uploads();
    await it.upload([write('faq.md', 'hello')]);
    const [kept] = await it.kept();
    const [reserved, created] = (await readState(it.state)).records;
    expect(reserved).toMatchObject({ type: 'upload.reserved', data: { filename: 'faq.md', sha256: sha256('hello') } });
    expect(created).toMatchObject({ type: 'upload.created', object: kept?.file_attachment_id, of: reserved?.id });
  });

  test('reports a local error for standard input without a temporary directory', async () => {
    const it = await uploads();
    vi.stubEnv('TMPDIR', join(it.directory, 'gone'));
    try {
      const ran = await it.upload(['-', '--filename', 'x', '-o', 'json'], { stdin: 'x' });
      expect(ran.code).toBe(1);
      expect(ran.error()).toMatchObject({ type: 'local', hint: expect.stringContaining('TMPDIR') });
      expect(await it.received()).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('rejects standard input as both the token and a file', async () => {
    const it = await uploads();
    const args = ['-', '--filename', 'x', '--token-file', '-', '-o', 'json'];
    const ran = await it.upload(args, { stdin: 'x', env: { PARTNER_TOKEN: undefined } });
    expect(ran.code).toBe(2);
    expect(ran.error().message).toBe('Standard input cannot be both the file and the token.');
  });

  test('does not read standard input without a token', async () => {
    const it = await uploads();
    vi.stubEnv('TMPDIR', join(it.directory, 'gone'));
    onTestFinished(() => void vi.unstubAllEnvs());
    // There is no temporary directory: reading standard input would fail with another error.
    const options = { stdin: '', env: { PARTNER_TOKEN: undefined } };
    const ran = await it.upload(['-', '--filename', 'x', '-o', 'json'], options);
    expect(ran.code).toBe(3);
    expect(ran.error()).toMatchObject({ type: 'credentials' });
  });

  test.each([
    [[], /No file to upload/],
    [['x', '--as', 'picture'], /--as/],
    [['x', '--concurrency', '0'], /--concurrency/],
    [['x', '--concurrency', '33'], /--concurrency/],
    [['x', '--concurrency', 'many'], /--concurrency/],
    [['x', '--content-type', 'pdf'], /--content-type takes a type/],
    [['x', '--content-type', 'a/b\r\nX: y'], /--content-type takes a type/],
    [['x', '--filename', 'y'], /--filename can only be used with standard input/],
    [['x', '--exclude', '*'], /needs --recursive/],
    [['x', '-r', '--exclude', '*', '--exclude', ''], /--exclude is empty/],
    [['x', '-r', '--exclude', '/'], /--exclude takes a pattern/],
    [['-'], /needs --filename/],
    [['-', '--filename', ''], /--filename is empty/],
    [['-', 'x', '--filename', 'y'], /cannot be uploaded together with files/],
  ])('exits with 2 for %j, and sends nothing', async (args, said) => {
    const it = await uploads();
    const ran = await it.upload([...args, '-o', 'json'], { stdin: 'x' });
    expect(ran.code).toBe(2);
    const { message, hint } = ran.error();
    expect(`${message} ${hint}`).toMatch(said);
    expect(await it.received()).toEqual([]);
    expect(existsSync(it.state)).toBe(false);
  });
});

describe('an argument that cannot be uploaded', () => {
  test('is reported together with the others: a directory, a pipe, a device, a broken link, and a missing file', async () => {
    const it = await uploads();
    const good = write('good', 'good', it.directory);
    const pipe = join(it.directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const link = join(it.directory, 'link');
    symlinkSync('nowhere', link);
    const args = [good, it.directory, pipe, '/dev/null', link, join(it.directory, 'gone\u001b[2J')];
    const ran = await it.upload([...args, '-o', 'json']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.error()).toMatchObject({
      type: 'invalid_input',
      message: '5 files cannot be uploaded.',
      details: {
        problems: [
          { file: it.directory, why: expect.stringContaining('--recursive') },
          { file: pipe, why: expect.stringContaining('pipe') },
          { file: '/dev/null', why: expect.stringContaining('device') },
          { file: link, why: expect.stringContaining('no such file') },
          { file: args[5], why: expect.any(String) },
        ],
      },
    });
    expect(await it.received()).toEqual([]);
    const shown = await it.upload([args[5] ?? '']);
    expect(shown.stderr).toContain('gone\\x1b[2J');
  });

  test.skipIf(process.getuid?.() === 0)('exits with 2 if it is a file without read permission', async () => {
    const it = await uploads();
    const file = write('secret', 'x', it.directory);
    chmodSync(file, 0o000);
    const ran = await it.upload([file, write('good', 'x', it.directory), '-o', 'json']);
    expect(ran.code).toBe(2);
    expect(await it.received()).toEqual([]);
  });
});

describe('an upload of a directory', () => {
  test('sends each file below it, except for hidden files and links that lead out of it, which are counted', async () => {
    const it = await uploads();
    const outside = write('secret.txt', 'not meant');
    mkdirSync(join(it.directory, '.git'));
    mkdirSync(join(it.directory, 'sub', 'deep'), { recursive: true });
    const texts = {
      'a.pdf': 'a',
      'b.tmp': 'b',
      '.env': 'e',
      '.git/config': 'g',
      'sub/c.pdf': 'c',
      'sub/deep/d.pdf': 'd',
    };
    for (const [name, text] of Object.entries(texts)) write(name, text, it.directory);
    symlinkSync(outside, join(it.directory, 'link.txt'));
    const args = ['-r', it.directory, '--exclude', '*.tmp', '-o', 'json'];
    const planned = await it.upload([...args, '--dry-run']);
    const said = 'Left out: 2 hidden, 1 link that leads out of the directory. To upload one, name it.\n';
    expect(planned.stderr).toBe(said);
    expect(statuses(planned)).toEqual(['planned', 'planned', 'planned']);
    const ran = await it.upload(args);
    expect(ran).toMatchObject({ code: 0, stderr: said });
    expect((await it.kept()).map(({ filename }) => filename).sort()).toEqual(['a.pdf', 'c.pdf', 'd.pdf']);
    const named = await it.upload([join(it.directory, '.env'), join(it.directory, 'link.txt'), '-r', '-o', 'json']);
    expect(named).toMatchObject({ code: 0, stderr: '' });
    expect(statuses(named)).toEqual(['uploaded', 'uploaded']);
  });
});

describe('an uploaded file', () => {
  test('is skipped after a touch or a move, and uploaded under another name or as a document', async () => {
    const it = await uploads();
    const file = write('a.txt', 'a', it.directory);
    const [first] = (await it.upload([file, '-o', 'json'])).json<UploadAnswer[]>();
    const skipped = { status: 'skipped', id: first?.id, sha256: first?.sha256 };
    expect((await it.upload([file, '-o', 'json'])).json()).toMatchObject([skipped]);
    utimesSync(file, new Date(0), new Date(0));
    expect((await it.upload([file, '-o', 'json'])).json()).toMatchObject([skipped]);
    mkdirSync(join(it.directory, 'other'));
    const moved = join(it.directory, 'other', 'a.txt');
    renameSync(file, moved);
    expect((await it.upload([moved, '-o', 'json'])).json()).toMatchObject([skipped]);
    expect(await it.kept()).toHaveLength(1);

    const renamed = join(it.directory, 'b.txt');
    renameSync(moved, renamed);
    expect((await it.upload([renamed, '-o', 'json'])).json()).toMatchObject([{ status: 'uploaded' }]);
    expect((await it.upload([renamed, '--as', 'document', '-o', 'json'])).json()).toMatchObject([
      { status: 'uploaded' },
    ]);
    appendFileSync(renamed, '!');
    expect((await it.upload([renamed, '-o', 'json'])).json()).toMatchObject([{ status: 'uploaded', bytes: 2 }]);
    expect(await it.kept()).toHaveLength(4);
  });

  test('is uploaded again if its content was replaced, even if length and time are the same', async () => {
    const it = await uploads();
    const file = write('a.txt', 'one', it.directory);
    utimesSync(file, new Date(0), new Date(0));
    await it.upload([file]);
    write('a.txt', 'two', it.directory);
    utimesSync(file, new Date(0), new Date(0));
    expect((await it.upload([file, '-o', 'json'])).json()).toMatchObject([
      { status: 'uploaded', sha256: sha256('two') },
    ]);
  });

  test('is uploaded again with --force, and the new id replaces the old one', async () => {
    const it = await uploads();
    const file = write('a.txt', 'a', it.directory);
    const [first] = (await it.upload([file, '-o', 'json'])).json<UploadAnswer[]>();
    const [second] = (await it.upload([file, '--force', '-o', 'json'])).json<UploadAnswer[]>();
    expect(second).toMatchObject({ status: 'uploaded' });
    expect(second?.id).not.toBe(first?.id);
    expect((await it.upload([file, '-o', 'json'])).json()).toMatchObject([{ status: 'skipped', id: second?.id }]);
    expect(await it.kept()).toHaveLength(2);
  });

  test('is skipped in a dry run, which sends and writes nothing', async () => {
    const it = await uploads();
    const [known, fresh] = [write('a.txt', 'a', it.directory), write('b.txt', 'b', it.directory)];
    await it.upload([known]);
    await it.forget();
    const before = readFileSync(it.state, 'utf8');
    utimesSync(known, new Date(0), new Date(0));
    const ran = await it.upload([known, fresh, '--dry-run', '-o', 'json']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.json()).toMatchObject([
      { status: 'skipped', id: expect.stringMatching(/^att_/) },
      { status: 'planned', id: null, bytes: 1, error: null },
    ]);
    expect(await it.received()).toEqual([]);
    expect(readFileSync(it.state, 'utf8')).toBe(before);
  });

  test('leaves ids and hashes in the state file, but no path, content, or token', async () => {
    const it = await uploads();
    await it.upload([write('name.txt', 'the content itself', it.directory)]);
    const text = readFileSync(it.state, 'utf8');
    expect(text).toContain('name.txt');
    for (const never of ['the content itself', it.directory, it.token]) {
      expect(text).not.toContain(never);
    }
  });
});

describe('an upload of several files', () => {
  test('sends files of the same name and content once, at any concurrency', async () => {
    const it = await uploads();
    const { directory } = it;
    for (let index = 0; index < 12; index += 1) {
      mkdirSync(join(directory, `d${index}`));
      writeFileSync(join(directory, `d${index}`, '__init__.py'), '');
      writeFileSync(join(directory, `d${index}`, 'x.txt'), index % 2 === 0 ? 'even' : 'odd!');
    }
    const ran = await it.upload([directory, '-r', '--concurrency', '8', '-o', 'json']);
    expect({ code: ran.code, statuses: statuses(ran).toSorted() }).toEqual({
      code: 0,
      statuses: [...Array.from({ length: 21 }, () => 'skipped'), 'uploaded', 'uploaded', 'uploaded'],
    });
    expect(await it.kept()).toHaveLength(3);
  });
});

describe('the name of an upload', () => {
  test.each(['a"b\r\nX: y.txt', '日本語.pdf', 'a\\b%22.txt', '\u001b[31mred\u202e.txt', ' spaces .txt', '-dash.txt'])(
    'arrives unchanged, is exact in JSON, and is escaped in the table: %j',
    async (name) => {
      const it = await uploads();
      const file = write(name, 'x', it.directory);
      const ran = await it.upload([file, '-o', 'json']);
      expect(ran.code).toBe(0);
      expect(ran.json()).toMatchObject([{ file }]);
      const [kept] = await it.kept();
      // Quotes and line breaks are percent-encoded in the form, as browsers do.
      const encoded = name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
      expect(kept?.filename).toBe(encoded);
      const shown = await it.upload([file, '-o', 'table', '--color', 'never'], { columns: 200 });
      expect(shown.stdout).not.toMatch(/[\u001b\u202e\r]/);
      const rows = await it.upload([file, '-o', 'tsv']);
      expect(rows.stdout.split('\t')).toHaveLength(5);
    },
  );

  test('is only the last part of a path', async () => {
    const it = await uploads();
    mkdirSync(join(it.directory, 'a', 'b'), { recursive: true });
    write('x', 'x', it.directory);
    const ran = await it.upload([`${it.directory}/a/b/../../x`, '-o', 'json']);
    expect(ran.json()).toMatchObject([{ file: expect.stringMatching(/\.\.\/\.\.\/x$/), status: 'uploaded' }]);
    expect(await it.kept()).toMatchObject([{ filename: 'x' }]);
  });

  test('is sent as given in --filename', async () => {
    const it = await uploads();
    await it.upload(['-', '--filename', '../../x'], { stdin: 'x' });
    expect(await it.kept()).toMatchObject([{ filename: '../../x' }]);
  });
});

describe('an upload, when something fails,', () => {
  test('has its own exit code if it is the only file; otherwise 10, with the failed files named', async () => {
    const it = await uploads();
    const files = ['a', 'b', 'c'].map((name) => write(`${name}.txt`, name, it.directory));
    await it.faults({ kind: 'status', status: 413, on: 'POST', times: 1 });
    const alone = await it.upload([write('large', Buffer.alloc(200_000), it.directory), '-o', 'json']);
    expect(alone.code).toBe(1);
    expect(alone.error()).toMatchObject({
      message: 'The request is larger than the service accepts (413).',
      status: 413,
    });
    expect(alone.json()).toMatchObject([{ status: 'failed', id: null, error: { status: 413 } }]);
    await it.faults({ kind: 'status', status: 422, on: 'POST', times: 1 });
    const several = await it.upload([...files, '--concurrency', '1', '-o', 'json']);
    expect(several.code).toBe(10);
    expect(statuses(several)).toEqual(['failed', 'uploaded', 'uploaded']);
    expect(several.error()).toMatchObject({
      message: 'The upload is not complete: 2 uploaded, 1 failed.',
      details: { uploaded: 2, skipped: 0, planned: 0, unknown: 0, failed: 1 },
    });
    const again = await it.upload([...files, '-o', 'json']);
    expect(statuses(again)).toEqual(['uploaded', 'skipped', 'skipped']);
  });

  test.each([
    [402, 6, 'balance_too_low'],
    [401, 3, 'credentials'],
  ])('stops the run after %i', async (status, code, type) => {
    const it = await uploads();
    const files = ['a', 'b', 'c'].map((name) => write(`${name}.txt`, name, it.directory));
    await it.faults({ kind: 'status', status, on: 'POST' });
    const ran = await it.upload([...files, '--concurrency', '1', '-o', 'json']);
    expect(ran.code).toBe(code);
    expect(await it.posts()).toHaveLength(1);
    const notStarted = { status: 'failed', error: { type, message: expect.stringMatching(/^It was not started\. /) } };
    expect(ran.json()).toMatchObject([{ status: 'failed', error: { type } }, notStarted, notStarted]);
  });

  test('exits with 10 for one unknown outcome of several, and names --retry-unknown', async () => {
    const it = await uploads();
    const files = ['a', 'b'].map((name) => write(`${name}.txt`, name, it.directory));
    await it.faults({ kind: 'reset', stage: 'after', on: 'POST', times: 1 });
    const ran = await it.upload([...files, '--concurrency', '1', '-o', 'json']);
    expect(ran.code).toBe(10);
    expect(ran.error().hint).toContain('--retry-unknown');
    const plain = await it.upload([...files, '--concurrency', '1']);
    expect(plain).toMatchObject({ code: 10, stdout: expect.stringMatching(/\tskipped\t/) });
  });

  test('is not completed at the service if the state file cannot be written', async () => {
    const it = await uploads();
    const file = write('a.txt', 'a', it.directory);
    for (const state of [join(write('file', 'x'), 'state.jsonl'), it.directory]) {
      const ran = await it.upload([file, '--state', state, '-o', 'json']);
      expect(ran.code).toBe(1);
      expect(ran.error().message).toMatch(/state file/i);
      expect(await it.kept()).toEqual([]);
    }
  });

  test('sends nothing if the state file can be read but not written', async () => {
    const it = await uploads();
    const files = ['a', 'b'].map((name) => write(`${name}.txt`, name, it.directory));
    symlinkSync(join(it.directory, 'nowhere', 'state.jsonl'), it.state);
    const ran = await it.upload([...files, '-o', 'json']);
    expect(ran.code).toBe(1);
    expect(ran.json<UploadAnswer[]>().map(({ error }) => error?.message)).toEqual(
      files.map(() => `The state file could not be written: ${it.state}`),
    );
    expect(await it.received()).toEqual([]);
    const planned = await it.upload([...files, '--dry-run', '-o', 'json']);
    expect(planned).toMatchObject({ code: 0, stderr: '' });
  });

  test('sends nothing while a line of the state is damaged, and names the line', async () => {
    const it = await uploads();
    const [known, fresh] = [write('a.txt', 'a', it.directory), write('b.txt', 'b', it.directory)];
    await it.upload([known]);
    await it.forget();
    const intact = readFileSync(it.state, 'utf8');
    writeFileSync(it.state, intact.replace('"object":"a', '"object":"b'));
    const ran = await it.upload([known, fresh, '-o', 'json']);
    expect(ran.code).toBe(1);
    expect(ran.error()).toMatchObject({ message: expect.stringMatching(/state\.jsonl:\d+ cannot be used/) });
    expect(await it.received()).toEqual([]);
    writeFileSync(it.state, intact);
    expect(statuses(await it.upload([known, fresh, '-o', 'json']))).toEqual(['skipped', 'uploaded']);
  });

  test('exits with 8 without a network, and the next run uploads', async () => {
    const it = await uploads();
    const file = write('a.txt', 'a', it.directory);
    const away = await it.upload([file, '--retries', '0', '-o', 'json'], {
      env: { PARTNER_BASE_URL: 'http://127.0.0.1:9/v1' },
    });
    expect(away.code).toBe(8);
    expect(away.error().message).toMatch(/^Could not reach/);
    expect((await it.upload([file, '-o', 'json'])).json()).toMatchObject([{ status: 'uploaded' }]);
  });

  test('completes nothing if interrupted in the middle of a file, and says how to continue', async () => {
    const it = await uploads();
    const files = ['a', 'b', 'c'].map((name) => write(`${name}.txt`, name, it.directory));
    await it.faults({ kind: 'stall', on: 'POST', skip: 1 });
    const signals = manualSignals();
    const running = it.upload([...files, '--concurrency', '1', '-o', 'json'], { signals });
    while ((await it.posts()).length < 2) await new Promise(setImmediate);
    signals.abort(new InterruptedError('Interrupted.'));
    const ran = await running;
    expect(ran.code).toBe(130);
    expect(await it.kept()).toHaveLength(1);
    expect(ran.json<UploadAnswer[]>()[0]).toMatchObject({ status: 'uploaded' });
    expect(ran.error().hint).toContain('To continue, run it again');
  });
});
