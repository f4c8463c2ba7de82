import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { json } from '../support/fake-service.ts';
import { manualSignals, TOKEN, tempDirectory } from '../support/run.ts';
import { write } from '../support/service.ts';
import { readState } from '../support/state-file.ts';
import {
  ATTACHMENTS,
  completed,
  LARGE,
  largeFile,
  refuseEarly,
  sha256,
  smallFile,
  startUploads,
  statusesOf,
  type UploadAnswer,
  uploads,
} from '../support/uploads.ts';

describe('upload', () => {
  test('sends a file as a form, prints the documented JSON, and records the id but no path, content, or token', async () => {
    const at = await uploads();
    const bytes = Buffer.from([0, 255, 13, 10, 45, 45, 120]);
    const file = write('report.pdf', bytes, at.directory);
    const ran = await at.upload([file, '-o', 'json', '-q']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const [kept] = await at.kept();
    const id = kept?.file_attachment_id ?? '';
    const uploaded = { file, as: 'attachment', id, bytes: 7, sha256: sha256(bytes), status: 'uploaded', error: null };
    expect(ran.json()).toEqual([uploaded]);
    const { sha256: hash } = uploaded;
    expect(kept).toMatchObject({ filename: 'report.pdf', content_type: 'application/pdf', bytes: 7, sha256: hash });
    expect((await at.posts()).map(({ path }) => path)).toEqual([`/v1${ATTACHMENTS}`]);
    const [reserved, created] = (await readState(at.state)).records;
    const data = { filename: 'report.pdf', sha256: sha256(bytes) };
    expect(reserved).toMatchObject({ type: 'upload.reserved', data });
    expect(created).toMatchObject({ type: 'upload.created', object: id, of: reserved?.id });
    const text = readFileSync(at.state, 'utf8');
    for (const never of [at.directory, at.token]) expect(text).not.toContain(never);

    const again = { ...uploaded, status: 'skipped' };
    expect((await at.upload([file, '-o', 'json'])).json()).toEqual([again]);
    const tsv = await at.upload([file]);
    expect(tsv.stdout).toBe(`${id}\tskipped\t${file}\t7\t${sha256(bytes)}\n`);
    const table = await at.upload([file, '-o', 'table', '--wide', '--color', 'never'], { columns: 200 });
    expect(table.stdout).toMatch(/^ID +STATUS +FILE +BYTES +SHA-256\n/);
    expect(table.stderr).toBe('1 skipped.\n');
    expect(await at.kept()).toHaveLength(1);
  });

  test('sends documents, content types, and files of any size, and prints the results in the order of the arguments', async () => {
    const at = await uploads();
    const file = write('notes.md', '# Notes', at.directory);
    const one = await at.upload([file, '--as', 'document', '-o', 'json']);
    expect(one.json()).toMatchObject([{ as: 'document', status: 'uploaded', id: expect.stringMatching(/^doc_/) }]);
    expect((await at.upload([file, '--content-type', 'text/plain; charset=utf-8'])).code).toBe(0);
    await at.faults({ kind: 'delay', ms: 200, on: 'POST', times: 1 });
    const sizes = [1, 0, 262_144, 262_145];
    const files = sizes.map((bytes) => write(`${bytes}`, Buffer.alloc(bytes, 'abcdefg'), at.directory));
    const ran = await at.upload([...files, '-o', 'json']);
    expect(ran.json<UploadAnswer[]>().map(({ bytes }) => bytes)).toEqual(sizes);
    expect(ran.stderr).toBe(`note: ${files[1]} is empty.\n`);
    const [document, text, ...others] = await at.kept();
    expect(document).toMatchObject({ filename: 'notes.md', content_type: 'text/markdown' });
    expect(text).toMatchObject({ filename: 'notes.md', content_type: 'text/plain' });
    for (const { bytes, sha256: hash, content_type } of others) {
      expect(hash).toBe(sha256(Buffer.alloc(bytes, 'abcdefg')));
      expect(content_type).toBe('application/octet-stream');
    }
  });

  test('uploads standard input under --filename once, and leaves no temporary file', async () => {
    const at = await uploads();
    // The shared directory may have temporary files of tests in other processes.
    const temporary = tempDirectory();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const args = ['-', '--filename', '../dump.sql', '-o', 'json'];
    const ran = await at.upload(args, { stdin: 'select 1;' });
    expect(ran.json()).toMatchObject([{ file: '-', bytes: 9, sha256: sha256('select 1;'), status: 'uploaded' }]);
    expect(await at.kept()).toMatchObject([{ filename: '../dump.sql', content_type: 'application/sql' }]);
    expect(statusesOf(await at.upload(args, { stdin: 'select 1;' }))).toEqual(['skipped']);
    expect(statusesOf(await at.upload(args, { stdin: 'select 2;' }))).toEqual(['uploaded']);
    expect((await at.upload(args, { stdin: '' })).stderr).toBe('note: - is empty.\n');
    expect(readdirSync(temporary).filter((name) => name.startsWith('partnerctl-upload-'))).toEqual([]);
    // Standard input is not read without a token: reading it would fail.
    expect((await at.upload(args, { stdin: '', env: { PARTNER_TOKEN: undefined } })).code).toBe(3);
  });

  test('exits with 2 for wrong arguments, and sends nothing', async () => {
    const at = await uploads();
    const refused: readonly (readonly [readonly string[], RegExp])[] = [
      [[], /Missing required argument 'file'/],
      [['x', '--content-type', 'a/b\r\nX: y'], /--content-type takes a type/],
      [['x', '--filename', 'y'], /--filename can only be used with standard input/],
      [['x', '--exclude', '*'], /needs --recursive/],
      [['x', '-r', '--exclude', '/'], /--exclude takes a pattern/],
      [['-'], /needs --filename/],
      [['-', '--filename', 'y', '--token-file', '-'], /cannot be both the token and the input/],
    ];
    for (const [args, said] of refused) {
      const ran = await at.upload([...args, '-o', 'json'], { stdin: 'x', env: { PARTNER_TOKEN: undefined } });
      expect([args, ran.code, ran.error().message]).toEqual([args, 2, expect.stringMatching(said)]);
    }
    expect(await at.received()).toEqual([]);
    expect(existsSync(at.state)).toBe(false);
  });

  test('sends what is below a directory once, except for hidden files and links', async () => {
    const at = await uploads();
    for (const name of ['a.pdf', 'b.tmp', '.env', '.git/config', 'sub/c.pdf', 'sub/deep/a.pdf']) {
      mkdirSync(join(at.directory, name, '..'), { recursive: true });
      writeFileSync(join(at.directory, name), name.slice(-5));
    }
    symlinkSync(write('secret.txt', 'not meant'), join(at.directory, 'link.txt'));
    const args = ['-r', at.directory, '--exclude', '*.tmp', '--concurrency', '8', '-o', 'json'];
    const planned = await at.upload([...args, '--dry-run']);
    const said = 'Hidden files and links left out: 3. To upload one, name it.\n';
    expect(planned.stderr).toBe(said);
    expect(statusesOf(planned)).toEqual(['planned', 'planned', 'planned']);
    const ran = await at.upload(args);
    expect(ran).toMatchObject({ code: 0, stderr: said });
    // Two have the same name and content.
    expect(statusesOf(ran).toSorted()).toEqual(['skipped', 'uploaded', 'uploaded']);
  });

  test('skips a known file after a touch or a move, but not another name, kind, or content, nor with --force', async () => {
    const at = await uploads();
    const file = write('a.txt', 'one', at.directory);
    const status = async (...args: string[]) => (await at.upload([...args, '-o', 'json'])).json<UploadAnswer[]>()[0];
    const first = await status(file);
    const moved = write('a.txt', 'one');
    utimesSync(moved, new Date(0), new Date(0));
    expect(await status(moved)).toMatchObject({ status: 'skipped', id: first?.id, sha256: first?.sha256 });
    const renamed = write('b.txt', 'one');
    expect(await status(renamed)).toMatchObject({ status: 'uploaded' });
    expect(await status(renamed, '--as', 'document')).toMatchObject({ status: 'uploaded' });
    write('a.txt', 'two', at.directory);
    expect(await status(file)).toMatchObject({ status: 'uploaded', sha256: sha256('two') });
    const second = await status(file, '--force');
    expect(second?.status).toBe('uploaded');
    expect(await status(file)).toMatchObject({ status: 'skipped', id: second?.id });
  });
});

describe('an upload, when something fails,', () => {
  test('has its own exit code if it is the only file; otherwise 10, with the failed files named', async () => {
    const at = await uploads();
    const files = ['a', 'b', 'c'].map((name) => write(`${name}.txt`, name, at.directory));
    await at.faults({ kind: 'status', status: 422, on: 'POST', times: 1 }, { kind: 'reset', stage: 'after', times: 1 });
    const several = await at.upload([...files, '--concurrency', '1', '-o', 'json']);
    expect(several.code).toBe(10);
    expect(statusesOf(several)).toEqual(['failed', 'unknown', 'uploaded']);
    expect(several.error()).toMatchObject({
      message: '2 of 3 files failed.',
      details: { uploaded: 1, skipped: 0, planned: 0, unknown: 1, failed: 1 },
      hint: expect.stringContaining('--retry-unknown'),
    });
    expect(statusesOf(await at.upload([...files, '-o', 'json']))).toEqual(['uploaded', 'unknown', 'skipped']);
  });

  test('stops the run after a 402', async () => {
    const at = await uploads();
    const files = ['a', 'b', 'c'].map((name) => write(`${name}.txt`, name, at.directory));
    await at.faults({ kind: 'status', status: 402, on: 'POST' });
    const ran = await at.upload([...files, '--concurrency', '1', '-o', 'json']);
    expect(ran.code).toBe(6);
    expect(await at.posts()).toHaveLength(1);
    const error = { type: 'balance_too_low', message: expect.stringMatching(/^It was not started\. /) };
    const notStarted = { status: 'failed', error };
    expect(ran.json()).toMatchObject([{ status: 'failed', error: { type: error.type } }, notStarted, notStarted]);
  });

  test('stops the transfer of a large file that is refused early, and reports it as refused', async () => {
    const { service, upload, records } = await startUploads(refuseEarly(413, 100_000));
    const ran = await upload([largeFile()]);
    expect(ran.code).toBe(1);
    expect(ran.error()).toMatchObject({ type: 'refused', status: 413 });
    await service.requests[0]?.closed();
    expect(completed(service)).toEqual([false]);
    expect(service.requests[0]?.bytes).toBeLessThan(LARGE / 2);
    expect(await records()).toEqual(['reserved', 'released']);
  });

  test('never writes the token to the state: neither as an id, nor in a name', async () => {
    const { service, upload, state } = await startUploads(json({ id: TOKEN }, 201));
    const ran = await upload([smallFile()]);
    expect({ code: ran.code, statuses: statusesOf(ran) }).toEqual({ code: 9, statuses: ['unknown'] });
    const named = await upload([write(`${TOKEN}.txt`, 'hello')]);
    expect(named.code).toBe(2);
    expect(named.error().message).toBe('A secret would be written to the state.');
    const [request, ...others] = service.requests;
    expect(others).toEqual([]);
    expect(Number(request?.headers['content-length'])).toBe(request?.bytes);
    expect(ran.stderr + readFileSync(state, 'utf8')).not.toContain(TOKEN);
  });

  test('sends nothing if the state cannot be written', async () => {
    const at = await uploads();
    symlinkSync(join(at.directory, 'nowhere', 'state.jsonl'), at.state);
    const ran = await at.upload([write('a.txt', 'a'), write('b.txt', 'b'), '-o', 'json']);
    expect(ran.code).toBe(1);
    const error = { message: `The state file could not be written: ${at.state}` };
    expect(ran.json()).toMatchObject([{ error }, { error }]);
    expect(await at.received()).toEqual([]);
  });

  test('completes nothing if interrupted in the middle of a file, and says how to continue', async () => {
    const at = await uploads();
    const files = ['a', 'b', 'c'].map((name) => write(`${name}.txt`, name, at.directory));
    await at.faults({ kind: 'stall', on: 'POST', skip: 1 });
    const signals = manualSignals();
    const running = at.upload([...files, '--concurrency', '1', '-o', 'json'], { signals });
    while ((await at.posts()).length < 2) await new Promise(setImmediate);
    signals.ctrlC();
    const ran = await running;
    expect(ran.code).toBe(130);
    expect(await at.kept()).toHaveLength(1);
    expect(statusesOf(ran)[0]).toBe('uploaded');
    expect(ran.error().hint).toContain('Run it again');
  });
});
