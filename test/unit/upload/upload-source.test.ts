import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamedBody } from '../../../src/api/streamed-body.ts';
import { LocalError } from '../../../src/errors.ts';
import { fileForm } from '../../../src/upload/file-form.ts';
import { findFiles } from '../../../src/upload/find-files.ts';
import {
  createBody,
  hashContent,
  readFileContent,
  textSource,
  type UploadSource,
} from '../../../src/upload/upload-source.ts';
import { sha256 } from '../../support/forms.ts';
import { anyCharacter } from '../../support/properties.ts';
import { tempDirectory } from '../../support/run.ts';
import { DESCRIPTORS, openBelow } from './descriptors.ts';

const GOING_ON = new AbortController().signal;
const PART = 512 * 1024;

/** A file as `upload` would open it. */
async function fileSource(path: string): Promise<UploadSource> {
  const [looked] = await findFiles(
    [path],
    { recursive: false, include: [], exclude: [] },
    new AbortController().signal,
  );
  if (!looked) throw new Error('It is not there.');
  return {
    label: path,
    filename: looked.filename,
    bytes: looked.bytes,
    stamp: null,
    content: (over) => readFileContent(looked, over),
    form: () => fileForm({ ...looked, contentType: 'text/plain', fields: [] }),
  };
}

function file(content: string | Uint8Array): string {
  const path = join(tempDirectory(), 'a.txt');
  writeFileSync(path, content);
  return path;
}

interface Sent {
  readonly body: Buffer;
  readonly bytes: number;
  readonly hash: string | undefined;
  readonly progress: readonly number[];
}

async function wholeOf(body: StreamedBody): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.chunks(GOING_ON)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The entire body, as the connection would read it. */
async function send(source: UploadSource): Promise<Sent> {
  const progress: number[] = [];
  let hash: string | undefined;
  const body = createBody(source, {
    onProgress: (bytes) => progress.push(bytes),
    beforeLastBytes: async (content) => {
      hash = content;
    },
  });
  return { body: await wholeOf(body), bytes: body.bytes, hash, progress };
}

describe('the body of a file', () => {
  it.each([0, 1, PART - 1, PART, PART + 1, 3 * PART])('of %i bytes is complete, with its hash', async (bytes) => {
    const content = Buffer.alloc(bytes, 'abcdefg');
    const source = await fileSource(file(content));
    const sent = await send(source);
    expect(sent.body.length).toBe(sent.bytes);
    expect(sent.hash).toBe(sha256(content));
    expect(await hashContent(source, GOING_ON)).toBe(sha256(content));
    const { head, tail } = source.form();
    expect(sent.body.subarray(head.length, -tail.length).equals(content)).toBe(true);
    expect(sent.progress.at(0)).toBe(0);
    expect(sent.progress.at(-1)).toBe(bytes);
  });

  it('is the same for every attempt', async () => {
    const source = await fileSource(file('hello'));
    const body = createBody(source, { onProgress: () => undefined, beforeLastBytes: async () => undefined });
    expect((await wholeOf(body)).equals(await wholeOf(body))).toBe(true);
  });

  it('withholds its last bytes until they are released, and forever if that fails', async () => {
    const source = await fileSource(file('hello'));
    let taken = 0;
    let takenBefore = -1;
    const body = createBody(source, {
      onProgress: () => undefined,
      beforeLastBytes: async () => {
        takenBefore = taken;
        throw new Error('Not this one.');
      },
    });
    const reading = async (): Promise<void> => {
      for await (const chunk of body.chunks(GOING_ON)) taken += chunk.length;
    };
    await expect(reading()).rejects.toThrow('Not this one.');
    expect(takenBefore).toBe(body.bytes - source.form().tail.length);
    expect(taken).toBe(takenBefore);
  });

  it('ends early and incomplete once the attempt is over', async () => {
    const source = await fileSource(file(Buffer.alloc(3 * PART)));
    const over = new AbortController();
    const body = createBody(source, {
      onProgress: (bytes) => bytes === PART && over.abort(),
      beforeLastBytes: () => Promise.reject(new Error('It went on.')),
    });
    let taken = 0;
    for await (const chunk of body.chunks(over.signal)) taken += chunk.length;
    expect(taken).toBe(source.form().head.length + PART);
  });
});

it('the end of a body is not sent if the attempt ends just before it', async () => {
  const source = await fileSource(file('hello'));
  const over = new AbortController();
  const body = createBody(source, { onProgress: () => undefined, beforeLastBytes: async () => over.abort() });
  let taken = 0;
  for await (const chunk of body.chunks(over.signal)) taken += chunk.length;
  expect(taken).toBe(body.bytes - source.form().tail.length);
});

it('a hash covers the entire content, or there is none', async () => {
  const source = await fileSource(file('hello'));
  const over = AbortSignal.abort(new Error('It is over.'));
  await expect(hashContent(source, over)).rejects.toThrow('It is over.');
});

it.skipIf(!existsSync(DESCRIPTORS))('a file is closed once it is read or abandoned (needs /proc)', async () => {
  const path = file(Buffer.alloc(3 * PART));
  const source = await fileSource(path);
  await hashContent(source, GOING_ON);
  expect(openBelow(path)).toEqual([]);
  for await (const _ of source.content(GOING_ON)) {
    expect(openBelow(path)).toEqual([path]);
    break;
  }
  expect(openBelow(path)).toEqual([]);
});

describe('the upload of a file is not completed if', () => {
  /** Each is noticed before the file is opened and in the middle of it. */
  const CHANGES: readonly [string, (path: string) => void][] = [
    ['it grows', (path) => appendFileSync(path, 'x')],
    ['it shrinks', (path) => truncateSync(path, PART + 1)],
    ['it is emptied', (path) => truncateSync(path, 0)],
    [
      'it is written to in place, and keeps its length',
      (path) => {
        writeFileSync(path, Buffer.alloc(2 * PART, 'other'), { flag: 'r+' });
        utimesSync(path, 1, 2);
      },
    ],
    ['it is touched', (path) => utimesSync(path, statSync(path).atime, new Date(statSync(path).mtimeMs + 1))],
  ];

  async function refusal(source: UploadSource, onFirstPart: () => void): Promise<unknown> {
    let isComplete = false;
    const body = createBody(source, {
      onProgress: (bytes) => bytes === PART && onFirstPart(),
      beforeLastBytes: async () => {
        isComplete = true;
      },
    });
    try {
      for await (const _ of body.chunks(GOING_ON));
    } catch (error) {
      expect(isComplete).toBe(false);
      return error;
    }
    return undefined;
  }

  describe.each(CHANGES)('%s', (_, change) => {
    it.each(['before', 'while'])('%s it is read', async (moment) => {
      const path = file(Buffer.alloc(2 * PART, 'content'));
      const source = await fileSource(path);
      if (moment === 'before') change(path);
      const error = await refusal(source, () => {
        if (moment === 'before') throw new Error('A part of it was sent.');
        change(path);
      });
      expect(error).toBeInstanceOf(LocalError);
      expect(error).toMatchObject({ message: `${path} changed while it was being uploaded.` });
    });
  });

  it('another file of the same length and time replaced it', async () => {
    const path = file('hello');
    utimesSync(path, 1, 2);
    const source = await fileSource(path);
    const other = `${path}.new`;
    writeFileSync(other, 'HELLO');
    utimesSync(other, 1, 2);
    renameSync(other, path);
    expect(await refusal(source, () => undefined)).toMatchObject({ message: expect.stringContaining('changed') });
    await expect(hashContent(source, GOING_ON)).rejects.toThrow('changed');
  });

  it.skipIf(process.platform === 'win32')('a pipe without a writer replaced the small file', async () => {
    const path = file('hello');
    const source = await fileSource(path);
    rmSync(path);
    execFileSync('mkfifo', [path]);
    expect(await refusal(source, () => undefined)).toMatchObject({ message: expect.stringContaining('changed') });
  });

  it('it was removed', async () => {
    const path = file('hello');
    const source = await fileSource(path);
    rmSync(path);
    const error = await refusal(source, () => undefined);
    expect(error).toBeInstanceOf(LocalError);
    expect(error).toMatchObject({
      message: `${path} cannot be read.`,
      info: { why: 'there is no such file or directory' },
    });
  });

  it.each([
    ['more', '/proc/version'],
    ['less', '/sys/devices/system/cpu/online'],
  ])('it contains %s bytes than its size says, as %s does', async (_, path) => {
    if (!existsSync(path)) return;
    const source = await fileSource(path);
    const error = await refusal(source, () => undefined);
    expect(error).toBeInstanceOf(LocalError);
    expect(error).toMatchObject({ message: `The content of ${path} does not match its size.` });
    await expect(hashContent(source, GOING_ON)).rejects.toThrow('does not match its size');
  });

  it('but is completed if the open file is removed', async () => {
    const path = file(Buffer.alloc(2 * PART, 'content'));
    const source = await fileSource(path);
    expect(await refusal(source, () => rmSync(path))).toBeUndefined();
  });
});

it('property: any text becomes a JSON document', async () => {
  const anyText = fc.string({ unit: anyCharacter }).filter((text) => text.isWellFormed());
  await fc.assert(
    fc.asyncProperty(anyText, anyText, async (name, content) => {
      const source = textSource(name, content);
      const { body, bytes, hash } = await send(source);
      expect(body.length).toBe(bytes);
      expect(JSON.parse(body.toString())).toEqual({ name, content });
      expect(hash).toBe(sha256(content));
      expect(source.bytes).toBe(Buffer.byteLength(content));
    }),
  );
});
