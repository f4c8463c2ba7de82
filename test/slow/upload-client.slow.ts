import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { type Service, service } from '../support/service.ts';
import { type Kept, sha256, type UploadAnswer } from '../support/uploads.ts';

const UPLOADS = 'POST /automation/file-attachments/';

interface Ran {
  readonly exitCode: number | undefined;
  readonly said: readonly UploadAnswer[];
}

interface Setup {
  readonly sandbox: Service;
  /** What must exist in the end: name and hash of every file, sorted. */
  readonly wanted: readonly string[];
  run(...more: string[]): Promise<Ran>;
  kept(): Promise<readonly Kept[]>;
}

/** Small files, of which every tenth has the content of the one before it under another name. */
function makeFiles(count: number): { directory: string; wanted: string[] } {
  const directory = join(tempDirectory(), 'files');
  const wanted: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const part = join(directory, `d${index % 7}`);
    mkdirSync(part, { recursive: true });
    const origin = index % 10 === 9 ? index - 1 : index;
    const content = Buffer.alloc(origin % 300, `content ${origin};`);
    const name = `f${index} "ü".txt`;
    writeFileSync(join(part, name), content);
    wanted.push(`${name} ${sha256(content)}`);
  }
  return { directory, wanted: wanted.toSorted() };
}

async function setUp(count: number): Promise<Setup> {
  const sandbox = await service();
  const { directory, wanted } = makeFiles(count);
  const args = ['upload', directory, '-r', '-o', 'json', '--state', join(tempDirectory(), 'state.jsonl')];
  return {
    sandbox,
    wanted,
    run: async (...more) => {
      const { exitCode, stdout } = await start([...args, ...more], { env: sandbox.env });
      return { exitCode, said: stdout === '' ? [] : JSON.parse(stdout) };
    },
    kept: async () => {
      const uploads: readonly Kept[] = (await sandbox.admin('GET', '/uploads')).json.uploads;
      // Quotes are percent-encoded in the form, as browsers do.
      return uploads.map((upload) => ({ ...upload, filename: (upload.filename ?? '').replaceAll('%22', '"') }));
    },
  };
}

function named(uploads: readonly Kept[]): string[] {
  return uploads.map(({ filename, sha256: hash }) => `${filename} ${hash}`).toSorted();
}

function count(said: readonly UploadAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of said) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Every reported id exists, for the file that it was reported for. */
function expectReportedIdsExist(said: readonly UploadAnswer[], uploads: readonly Kept[]): void {
  const byId = new Map(uploads.map((upload) => [upload.file_attachment_id, upload]));
  for (const { file, id, sha256: hash } of said) {
    if (id === null) continue;
    expect(byId.get(id)).toMatchObject({ filename: file.slice(file.lastIndexOf('/') + 1), sha256: hash });
  }
}

async function faults({ sandbox }: Setup, seed: number, rules: readonly object[]): Promise<void> {
  const plan = { seed, rules: rules.map((rule) => ({ ...rule, on: UPLOADS })) };
  expect((await sandbox.admin('PUT', '/faults', plan)).status).toBe(200);
}

test('500 small files exist at most once each if some responses are lost, and those are unknown', async () => {
  const here = await setUp(500);
  await faults(here, 2, [
    { kind: 'reset', stage: 'after', rate: 0.06 },
    { kind: 'cut', rate: 0.04 },
    { kind: 'status', status: 502, stage: 'after', rate: 0.04 },
    { kind: 'html', stage: 'after', rate: 0.02 },
    { kind: 'garbage', stage: 'after', rate: 0.02 },
  ]);
  const ran = await here.run('--concurrency', '8');
  const struck = (await here.sandbox.received()).filter(({ fault }) => fault !== null).length;
  const { unknown = 0 } = count(ran.said);
  expect({ exitCode: ran.exitCode, unknown }).toEqual({ exitCode: 10, unknown: struck });
  expect(count(ran.said)).toEqual({ uploaded: 500 - struck, unknown: struck });
  const first = await here.kept();
  expectReportedIdsExist(ran.said, first);
  expect(named(first)).toEqual(here.wanted);

  await here.sandbox.faults();
  await here.sandbox.forget();
  const again = await here.run('--concurrency', '8');
  expect(count(again.said)).toEqual({ skipped: 500 - struck, unknown: struck });
  expect(await here.sandbox.posts()).toEqual([]);

  const finished = await here.run('--retry-unknown');
  expect({ exitCode: finished.exitCode, counts: count(finished.said) }).toEqual({
    exitCode: 0,
    counts: { skipped: 500 - struck, uploaded: struck },
  });
  expectReportedIdsExist(finished.said, await here.kept());
  expect(await here.sandbox.posts()).toHaveLength(struck);
});
