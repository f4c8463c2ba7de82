import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { expect, test } from 'vitest';
import { ATTACHMENTS, DOCUMENTS, FORM_END, MULTIPART, partHead } from '../support/forms.ts';
import { tempDirectory } from '../support/run.ts';
import { type SandboxClient, startChildSandbox } from '../support/service.ts';

const MIB = 1024 * 1024;

/** The peak memory of a process so far, in MiB. */
async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Streams a body as a form. */
async function streamForm(
  { sandbox, token }: SandboxClient,
  path: string,
  body: AsyncIterable<Uint8Array>,
): Promise<{ status: number; json: { [name: string]: unknown } }> {
  const { statusCode, body: response } = await request(`${sandbox.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': MULTIPART },
    body: Readable.from(body, { objectMode: false }),
  });
  const json: unknown = await response.json();
  return { status: statusCode, json: Object(json) };
}

test.skipIf(process.platform !== 'linux')(
  'The memory of the sandbox does not depend on the size of uploads',
  async () => {
    const { pid, ...on } = await startChildSandbox(join(tempDirectory(), 'data'));
    const idle = await peakMemory(pid);

    const block = Buffer.alloc(MIB, 'x');
    async function* body(mebibytes: number): AsyncGenerator<Uint8Array> {
      yield Buffer.from(partHead('; name="file"; filename="big"'));
      for (let sent = 0; sent < mebibytes; sent += 1) yield block;
      yield Buffer.from(FORM_END);
    }
    const responses = await Promise.all([streamForm(on, ATTACHMENTS, body(512)), streamForm(on, DOCUMENTS, body(256))]);
    expect(responses.map(({ status, json }) => [status, json.bytes])).toEqual([
      [201, 512 * MIB],
      [201, 256 * MIB],
    ]);
    const headers = { authorization: `Bearer ${on.sandbox.adminKey}` };
    const url = `${on.sandbox.adminUrl}/uploads/${responses[0].json.file_attachment_id}/content`;
    const content = await fetch(url, { headers });
    let read = 0;
    for await (const chunk of content.body ?? []) read += chunk.length;
    expect(read).toBe(512 * MIB);
    expect((await peakMemory(pid)) - idle).toBeLessThan(150);
  },
);
