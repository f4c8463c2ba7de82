import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { parseToken, readToken } from '../../../src/config/read-token.ts';
import type { TokenSource } from '../../../src/config/settings.ts';
import { CredentialsError } from '../../../src/errors.ts';
import { fasterClock, tempDirectory } from '../../support/run.ts';
import { memorySink } from '../../support/sinks.ts';

const NEVER = new AbortController().signal;
const HERE = { from: 'here', replaceHint: 'Mend it.' };

/** Reads a token from a source. @param notice gets what a person is told */
function read(
  kind: TokenSource['kind'],
  value: string,
  {
    stdin = Readable.from([]),
    abortSignal = NEVER,
    stderr = memorySink(),
    notice = async (_: string): Promise<void> => undefined,
  } = {},
) {
  const context = { io: { stdin, stderr }, clock: fasterClock(100), abortSignal, notice };
  return readToken({ kind, value, ...HERE }, context);
}

it('a token is printable ASCII, or the error does not contain it', () => {
  expect(parseToken(' pat_0123456 \n', HERE)).toBe('pat_0123456');
  for (const given of ['', ' \n', 'two words', 'pat_\u200b0123456', 'pat_0123456\r\nx-evil: 1']) {
    expect(() => parseToken(given, HERE)).toThrow(CredentialsError);
    expect(() => parseToken(given, HERE)).not.toThrow(/words|0123456|evil/);
  }
});

it('reads the first line of a file or of standard input that is not blank, without waiting for the end', async () => {
  const path = join(tempDirectory(), 'token');
  writeFileSync(path, '\n\r\n  pat_file \r\nsecond line\n');
  expect(await read('file', path)).toBe('pat_file');
  const open = new PassThrough();
  open.write('\npat_');
  open.write('stdin\n');
  expect(await read('file', '-', { stdin: open })).toBe('pat_stdin');
  await expect(read('file', `${path}.none`)).rejects.toThrow(`${path}.none`);
});

it('says what it waits for, and passes on what a command says', async () => {
  const go = join(tempDirectory(), 'go');
  const stderr = memorySink();
  const notice = async (text: string) => writeFileSync(go, text);
  const command = `echo Unlocking >&2; until [ -e ${go} ]; do sleep 0.01; done; echo pat_command`;
  expect(await read('command', command, { stderr, notice })).toBe('pat_command');
  expect([stderr.text(), readFileSync(go, 'utf8')]).toEqual(['Unlocking\n', 'Waiting for the token from here.']);
  await expect(read('command', 'echo Locked >&2; exit 7', { stderr })).rejects.toThrow('Here failed.');
  expect(stderr.text()).toBe('Unlocking\nLocked\n');
});

it('ends a command at Ctrl-C', async () => {
  const control = new AbortController();
  const interrupted = read('command', 'exec sleep 60', { abortSignal: control.signal });
  setImmediate(() => control.abort(new Error('Interrupted.')));
  await expect(interrupted).rejects.toThrow('Interrupted.');
});
