import { readdirSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { InterruptedError } from '../../../src/errors.ts';
import { spoolStdin } from '../../../src/upload/open-sources.ts';
import { tempDirectory } from '../../support/run.ts';

/** The directory for temporary files of a test: the shared one has those of tests in other processes. */
function temporaryFiles(): () => string[] {
  const directory = tempDirectory();
  vi.stubEnv('TMPDIR', directory);
  onTestFinished(() => void vi.unstubAllEnvs());
  return () => readdirSync(directory);
}

it.skipIf(process.platform === 'win32')(
  'standard input is stored in an unlinked file, so that nothing is left behind',
  async () => {
    const left = temporaryFiles();
    const { file, inspected, remove } = await spoolStdin(
      Readable.from([Buffer.from('hel'), Buffer.from('lo')]),
      new AbortController().signal,
    );
    expect(left()).toEqual([]);
    expect(inspected.bytes).toBe(5);
    expect((await file.read(Buffer.alloc(9), 0, 9, 0)).bytesRead).toBe(5);
    await remove();
  },
);

it('reading standard input stops with the reason of the abort signal', async () => {
  const left = temporaryFiles();
  const stdin = new PassThrough();
  const over = new AbortController();
  const kept = spoolStdin(stdin, over.signal);
  stdin.write('hello');
  over.abort(new InterruptedError('Interrupted.'));
  await expect(kept).rejects.toThrow(InterruptedError);
  expect(left()).toEqual([]);
});
