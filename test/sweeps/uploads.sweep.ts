import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { prepareChildSandboxes, temporaryDirectory } from '../sandbox/child-process.ts';
import { connectToChild } from '../sandbox/client.ts';
import {
  ATTACHMENTS,
  DOCUMENTS,
  FORM_END,
  fileForm,
  partHead,
  postForm,
  sha256,
  streamForm,
} from '../sandbox/uploads.ts';

const startChild = prepareChildSandboxes();

const MIB = 1024 * 1024;

/** The most memory that a process has had so far, in MiB. */
async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

test.skipIf(process.platform !== 'linux')(
  'the memory of the sandbox does not depend on the size of what comes',
  async () => {
    const directory = await temporaryDirectory();
    const child = await startChild(join(directory, 'data'));
    const on = connectToChild(child);
    const idle = await peakMemory(child.pid);

    const block = Buffer.alloc(MIB, 'x');
    async function* body(mebibytes: number): AsyncGenerator<Uint8Array> {
      yield Buffer.from(partHead('; name="file"; filename="big"'));
      for (let sent = 0; sent < mebibytes; sent += 1) yield block;
      yield Buffer.from(FORM_END);
    }
    const answers = await Promise.all([streamForm(on, ATTACHMENTS, body(512)), streamForm(on, DOCUMENTS, body(256))]);
    expect(answers.map(({ status, json }) => [status, json.bytes])).toEqual([
      [201, 512 * MIB],
      [201, 256 * MIB],
    ]);
    const headers = { authorization: `Bearer ${child.adminKey}` };
    const content = await fetch(`${child.adminUrl}/uploads/${answers[0].json.file_attachment_id}/content`, { headers });
    let read = 0;
    for await (const chunk of content.body ?? []) read += chunk.length;
    expect(read).toBe(512 * MIB);
    expect((await peakMemory(child.pid)) - idle).toBeLessThan(150);
  },
);

test('500 uploads over lines that break are there once each where they were answered', async () => {
  const directory = await temporaryDirectory();
  const on = connectToChild(await startChild(join(directory, 'data')));
  const rules = [
    { kind: 'reset', on: 'POST', rate: 0.1 },
    { kind: 'reset', on: 'POST', rate: 0.1, at_bytes: 30_000 },
    { kind: 'status', status: 503, on: 'POST', rate: 0.1 },
    { kind: 'reset', stage: 'after', on: 'POST', rate: 0.1 },
  ];
  expect((await on.admin('PUT', '/faults', { rules, seed: 7 })).status).toBe(200);
  const lost: string[] = [];
  const answered: string[] = [];
  const send = async (number: number): Promise<void> => {
    const content = `file ${number} `.repeat(6_000);
    const answer = await postForm(on, ATTACHMENTS, fileForm(content)).catch(() => undefined);
    if (answer?.status === 201) answered.push(sha256(content));
    else lost.push(sha256(content));
  };
  for (let number = 0; number < 500; number += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, index) => send(number + index)));
  }
  const { uploads } = (await on.admin('GET', '/uploads')).json;
  const there: string[] = uploads.map((each: { sha256: string }) => each.sha256);
  expect(new Set(there).size).toBe(there.length);
  for (const sum of answered) expect(there).toContain(sum);
  const carriedOut = there.filter((sum) => lost.includes(sum));
  const { requests } = (await on.admin('GET', '/requests')).json;
  const after = requests.filter(({ fault }: { fault: string | null }) => fault === 'reset/after');
  expect(after.length).toBeGreaterThan(0);
  expect([carriedOut.length, there.length]).toEqual([after.length, answered.length + after.length]);
});
