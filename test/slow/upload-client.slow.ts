import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../support/program.ts';
import { write } from '../support/service.ts';
import { type Kept, sha256, type UploadAnswer, uploads } from '../support/uploads.ts';

const FILES = 500;

/** Writes small files, of which every tenth has the content of the one before it. @returns name and hash of each, sorted */
function writeFiles(directory: string): string[] {
  const all = Array.from({ length: FILES }, (_, index) => {
    const part = join(directory, `d${index % 7}`);
    mkdirSync(part, { recursive: true });
    const origin = index % 10 === 9 ? index - 1 : index;
    const content = Buffer.alloc(origin % 300, `content ${origin};`);
    const name = `f${index} "ü".txt`;
    write(name, content, part);
    return `${name} ${sha256(content)}`;
  });
  return all.toSorted();
}

/** The name and the hash of a file. Quotes are percent-encoded in the form, as browsers do. */
const named = ({ filename, sha256: hash }: Kept): string => `${(filename ?? '').replaceAll('%22', '"')} ${hash}`;

test('500 small files exist at most once each if some responses are lost, and those are unknown', async () => {
  const { admin, faults, forget, received, posts, env, kept, directory, state } = await uploads();
  const wanted = writeFiles(directory);
  /** Runs the program, and checks that each id that it reports exists, for the file that it was reported for. */
  const runUpload = async (...more: string[]) => {
    const args = ['upload', directory, '-r', '-o', 'json', '--state', state, ...more];
    const { exitCode, stdout } = await start(args, { env });
    const byId = new Map((await kept()).map((each) => [each.file_attachment_id ?? '', named(each)]));
    const counts: Record<string, number> = {};
    for (const { file, id, sha256: hash, status } of JSON.parse(stdout) as readonly UploadAnswer[]) {
      if (id !== null) expect(byId.get(id)).toBe(`${file.slice(file.lastIndexOf('/') + 1)} ${hash}`);
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return { exitCode, counts };
  };
  const rules = [
    { kind: 'reset', stage: 'after', rate: 0.06 },
    { kind: 'cut', rate: 0.04 },
    { kind: 'status', status: 502, stage: 'after', rate: 0.04 },
    { kind: 'html', stage: 'after', rate: 0.02 },
    { kind: 'garbage', stage: 'after', rate: 0.02 },
  ].map((rule) => ({ ...rule, on: 'POST /automation/file-attachments/' }));
  expect((await admin('PUT', '/faults', { seed: 2, rules })).status).toBe(200);

  const ran = await runUpload('--concurrency', '8');
  const struck = (await received()).filter(({ fault }) => fault !== null).length;
  expect(ran).toEqual({ exitCode: 10, counts: { uploaded: FILES - struck, unknown: struck } });
  expect((await kept()).map(named).toSorted()).toEqual(wanted);

  await faults();
  await forget();
  expect((await runUpload('--concurrency', '8')).counts).toEqual({ skipped: FILES - struck, unknown: struck });
  expect(await posts()).toEqual([]);

  const finished = await runUpload('--retry-unknown');
  expect(finished).toEqual({ exitCode: 0, counts: { skipped: FILES - struck, uploaded: struck } });
  expect(await posts()).toHaveLength(struck);
});
