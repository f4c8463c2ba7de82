import { appendFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { writeLine } from '../../src/sandbox/store/lines.ts';
import { childSandboxes, temporaryDirectory } from './child-process.ts';
import { connectTo, connectToChild, startTestSandbox, type TestSandbox } from './client.ts';
import {
  ATTACHMENTS,
  DOCUMENTS,
  downloadContent,
  fileForm,
  postForm,
  sha256,
  streamForm,
  uploadedFiles,
} from './uploads.ts';

const startChild = childSandboxes();

interface Listed {
  readonly sha256: string;
  readonly document_id?: string;
  readonly file_attachment_id?: string;
}

function idOf({ document_id, file_attachment_id }: Listed): string {
  return document_id ?? file_attachment_id ?? '';
}

/** Asserts that there is a file for each upload, with the right bytes, and no other. */
async function expectWhole(on: TestSandbox, dataDir: string): Promise<readonly Listed[]> {
  const uploads: Listed[] = (await on.admin('GET', '/uploads')).json.uploads;
  expect(await uploadedFiles(dataDir)).toEqual(uploads.map(idOf).sort());
  for (const upload of uploads) expect(sha256(await downloadContent(on, idOf(upload)))).toBe(upload.sha256);
  return uploads;
}

/** Fills the journal with what no longer counts, so that the next start writes it anew. */
async function litter(dataDir: string): Promise<void> {
  const filler = JSON.stringify({ kind: 'template', template: { template_id: 'tmpl_support', name: 'S' } });
  await appendFile(join(dataDir, 'journal.jsonl'), writeLine(Array.from({ length: 3_000 }, () => filler)));
}

describe('a restart', () => {
  test.each([
    ['keeps what was uploaded', () => Promise.resolve()],
    ['keeps it in a journal written anew', litter],
  ])('%s', async (_, between) => {
    const dataDir = await temporaryDirectory();
    const first = await startSandbox({ dataDir });
    const on = connectTo(first, await first.createToken());
    await postForm(on, ATTACHMENTS, fileForm('one', 'journal.jsonl'));
    await postForm(on, DOCUMENTS, fileForm('two'));
    await on.partner('POST', DOCUMENTS, { body: { name: 'n', content: 'three' } });
    const before = (await on.admin('GET', '/uploads')).json.uploads;
    await first.close();
    await between(dataDir);
    const again = await startTestSandbox({ dataDir });
    expect(await expectWhole(again, dataDir)).toEqual(before);
    expect(before.map(({ sha256: sum }: Listed) => sum)).toEqual(['one', 'two', 'three'].map(sha256));
  });

  test('removes the files of uploads that were not recorded, and nothing else', async () => {
    const dataDir = await temporaryDirectory();
    const directory = join(dataDir, 'sandbox-uploads');
    await (await startSandbox({ dataDir })).close();
    await mkdir(directory);
    await writeFile(join(directory, 'att_0123456789abcdef0123'), 'half');
    await writeFile(join(directory, 'thesis.txt'), 'whole');
    await startTestSandbox({ dataDir });
    expect(await readdir(directory)).toEqual(['thesis.txt']);
  });
});

describe('the files', () => {
  test('without anything else are no reason to refuse their directory', async () => {
    const dataDir = await temporaryDirectory();
    await mkdir(join(dataDir, 'sandbox-uploads'));
    const on = await startTestSandbox({ dataDir });
    expect((await postForm(on, ATTACHMENTS, fileForm('x'))).status).toBe(201);
  });

  test('are for their owner alone, under names of our own', async () => {
    const dataDir = await temporaryDirectory();
    const on = await startTestSandbox({ dataDir });
    const { json } = await postForm(on, ATTACHMENTS, fileForm('x', '../../../x'));
    const directory = join(dataDir, 'sandbox-uploads');
    expect(await readdir(directory)).toEqual([json.file_attachment_id]);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory, json.file_attachment_id))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(directory, json.file_attachment_id), 'utf8')).toBe('x');
  });

  test('are removed by a reset, those of former runs, too; later ones are kept', async () => {
    const dataDir = await temporaryDirectory();
    const first = await startSandbox({ dataDir });
    await postForm(connectTo(first, await first.createToken()), ATTACHMENTS, fileForm('old'));
    await first.close();
    const on = await startTestSandbox({ dataDir });
    await postForm(on, DOCUMENTS, fileForm('new'));
    expect(await uploadedFiles(dataDir)).toHaveLength(2);
    expect((await on.admin('POST', '/reset', {})).status).toBe(204);
    expect(await expectWhole(on, dataDir)).toEqual([]);
    await postForm(on, DOCUMENTS, fileForm('newest'));
    expect(await expectWhole(on, dataDir)).toHaveLength(1);
  });

  test('of a sandbox without a data directory are in one that is gone when it is closed', async () => {
    const parent = await temporaryDirectory();
    vi.stubEnv('TMPDIR', parent);
    try {
      const sandbox = await startSandbox();
      expect(await readdir(parent)).toEqual([]);
      const on = connectTo(sandbox, await sandbox.createToken());
      const { json } = await postForm(on, ATTACHMENTS, fileForm('x'));
      const [directory = ''] = await readdir(parent);
      expect(await readdir(join(parent, directory))).toEqual([json.file_attachment_id]);
      expect((await stat(join(parent, directory))).mode & 0o777).toBe(0o700);
      await sandbox.close();
      expect(await readdir(parent)).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe('kill -9', () => {
  test('while files come leaves every upload that was answered whole, and nothing of the others', async () => {
    const dataDir = await temporaryDirectory();
    const child = await startChild(dataDir);
    const on = connectToChild(child);
    const answered = new Set<string>();
    const lane = async (name: string): Promise<void> => {
      for (let number = 0; ; number += 1) {
        const answer = await postForm(on, ATTACHMENTS, fileForm(`${name}-${number}`.repeat(5_000))).catch(
          () => undefined,
        );
        if (answer === undefined) return;
        expect(answer.status).toBe(201);
        answered.add(answer.json.file_attachment_id);
      }
    };
    /** One that does not come to its end. */
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield fileForm('x'.repeat(100_000)).subarray(0, 90_000);
      await new Promise(() => undefined);
    }
    const lanes = ['a', 'b', 'c', 'd'].map(lane);
    const broken = streamForm(on, ATTACHMENTS, endless()).catch(() => 'broken');
    while (answered.size < 40 || (await uploadedFiles(dataDir)).length <= answered.size)
      await new Promise(setImmediate);
    await child.kill();
    expect(await broken).toBe('broken');
    await Promise.all(lanes);

    const again = await startTestSandbox({ dataDir });
    const ids = (await expectWhole(again, dataDir)).map(idOf);
    for (const id of answered) expect(ids).toContain(id);
    // At most one more for each lane: recorded, and the answer was lost.
    expect(ids.length - answered.size).toBeLessThanOrEqual(4);
  });
});

describe('a disk that takes no more', () => {
  test('turns an upload into a 500, leaves nothing of it, and small ones go on', async () => {
    const dataDir = await temporaryDirectory();
    // 200 blocks of 512 bytes (of 1024 in some shells).
    const on = connectToChild(await startChild(dataDir, 'ulimit -f 200'));
    const { status } = await postForm(on, ATTACHMENTS, fileForm('x'.repeat(2_000_000)));
    expect(status).toBe(500);
    expect(await uploadedFiles(dataDir)).toEqual([]);
    expect((await postForm(on, ATTACHMENTS, fileForm('x'))).status).toBe(201);
    expect(await expectWhole(on, dataDir)).toHaveLength(1);
  });
});
