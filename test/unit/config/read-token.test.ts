import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseToken, readToken, runSecretCommand } from '../../../src/config/read-token.ts';
import type { TokenSource } from '../../../src/config/settings.ts';
import { CredentialsError } from '../../../src/errors.ts';
import { anyCharacter } from '../../support/properties.ts';
import { tempDirectory } from '../../support/run.ts';

const NEVER = new AbortController().signal;
const HERE = { from: 'here', replaceHint: 'Mend it.' };

/** Reads a token from a source. */
function read(kind: TokenSource['kind'], value: string, stdin: Readable = Readable.from([]), signal = NEVER) {
  return readToken({ kind, value, ...HERE }, { stdin: () => stdin, signal });
}

it('property: a token is printable ASCII, or the error does not contain it', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, minLength: 12 }),
    fc.constantFrom('', ' \n', 'two words', 'pat_\u200b0123456', 'pat_0123456\r\nx-evil: 1'),
  );
  fc.assert(
    fc.property(text, (given) => {
      try {
        expect(parseToken(given, HERE)).toMatch(/^[!-~]+$/);
      } catch (error) {
        expect(error).toBeInstanceOf(CredentialsError);
        if (given.trim() !== '') expect(String(error)).not.toContain(given);
      }
    }),
  );
});

it('reads the first line of a file or of standard input that is not blank, without waiting for the end', async () => {
  const path = join(tempDirectory(), 'token');
  writeFileSync(path, '\n\r\n  pat_file \r\nsecond line\n');
  expect(await read('file', path)).toBe('pat_file');
  const open = new PassThrough();
  open.write('\npat_');
  open.write('stdin\n');
  expect(await read('file', '-', open)).toBe('pat_stdin');
  await expect(read('file', `${path}.none`)).rejects.toThrow(`${path}.none`);
});

it.each<[string, TokenSource['kind'], string, Readable?]>([
  ['a command', 'command', `head -c 20000 /dev/zero | tr '\\0' x; echo; echo second`],
  ['an endless command', 'command', "yes x | tr -d '\\n'"],
  ['standard input', 'file', '-', new Readable({ read: (size) => void 'x'.repeat(size) })],
])('rejects a first line of %s that is longer than a token', async (_, kind, value, stdin) => {
  stdin?.push('x'.repeat(20_000));
  const error = await read(kind, value, stdin).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CredentialsError);
  expect(String(error)).toMatch(/first line .* is longer than 16 KiB/);
  expect(String(error)).not.toContain('xxx');
});

it.each([
  ['succeeds', 0],
  ['fails', 7],
])('does not wait for a background process that keeps the pipe of a command open that %s', async (_, code) => {
  const pidFile = join(tempDirectory(), 'pid');
  const token = read('command', `echo pat_command; sleep 600 & echo $! > ${pidFile}; exit ${code}`);
  if (code === 0) expect(await token).toBe('pat_command');
  else await expect(token).rejects.toMatchObject({ message: 'Here failed.', info: { why: 'exit code 7' } });
  if (existsSync(pidFile)) process.kill(Number(readFileSync(pidFile, 'utf8')));
});

it('ends a command that takes too long, and does not repeat its output; so does Ctrl-C', async () => {
  const hanging = runSecretCommand("printf 'pat_partial'; exec sleep 60", 'the command', NEVER, 200);
  const error = await hanging.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ exitCode: 3, info: { why: 'no result within 0.2 s' } });
  expect(JSON.stringify(error)).not.toContain('pat_partial');
  const control = new AbortController();
  const interrupted = read('command', 'exec sleep 60', undefined, control.signal);
  setImmediate(() => control.abort(new Error('Interrupted.')));
  await expect(interrupted).rejects.toThrow('Interrupted.');
});
