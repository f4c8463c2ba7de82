import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runSecretCommand } from '../../../src/config/read-secret-line.ts';
import { parseToken, readToken, type TokenReaders } from '../../../src/config/read-token.ts';
import type { TokenSource } from '../../../src/config/token-sources.ts';
import { CredentialsError } from '../../../src/errors.ts';
import { anyCharacter } from '../../support/properties.ts';
import { tempDirectory } from '../../support/run.ts';

const NEVER = new AbortController().signal;
const COMMAND = `profile "p"'s token_command`;
const nothing = () => Readable.from([]);

function reading(stdin: Readable, signal = NEVER): TokenReaders {
  return { stdin: () => stdin, signal };
}

describe('parseToken', () => {
  it.each(['pat_0123', ' pat_0123\n', 'a.b-c_d~e+f/g=', '\ufeffpat_0123'])('accepts %j', (text) => {
    expect(parseToken(text, { from: 'here', fixHint: 'Mend it.' })).toBe(text.trim());
  });

  it.each(['', ' \n', 'two words', 'two\nlines', 'pat_\u0000x', 'pat_é', 'pat_\u200b0123', 'pat_\r\nx-evil: 1'])(
    'rejects %j',
    (text) => {
      expect(() => parseToken(text, { from: 'here', fixHint: 'Mend it.' })).toThrow(CredentialsError);
    },
  );

  it('property: returns printable ASCII, or throws an error without the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, minLength: 12 }), (text) => {
        try {
          expect(parseToken(text, { from: 'here', fixHint: 'Mend it.' })).toMatch(/^[!-~]+$/);
        } catch (error) {
          expect(error).toBeInstanceOf(CredentialsError);
          expect(String(error)).not.toContain(text);
        }
      }),
    );
  });
});

describe('readToken', () => {
  it('reads the first non-empty line of a file', async () => {
    const path = join(tempDirectory(), 'token');
    writeFileSync(path, '\n\r\n  pat_file \r\nsecond line\n');
    expect(await readToken({ kind: 'file', path, from: '--token-file', fixHint: 'Mend it.' }, reading(nothing()))).toBe(
      'pat_file',
    );
  });

  it('names a file that does not exist', async () => {
    const path = join(tempDirectory(), 'none');
    await expect(
      readToken({ kind: 'file', path, from: '--token-file', fixHint: 'Mend it.' }, reading(nothing())),
    ).rejects.toThrow(path);
  });

  it('reads standard input in chunks', async () => {
    const stdin = Readable.from([Buffer.from('pat_'), Buffer.from('stdin'), Buffer.from('\nrest')]);
    expect(
      await readToken({ kind: 'file', path: '-', from: '--token-file', fixHint: 'Mend it.' }, reading(stdin)),
    ).toBe('pat_stdin');
  });

  it('does not wait for the end of standard input', async () => {
    const stdin = new PassThrough();
    stdin.write('\npat_stdin\n');
    expect(
      await readToken({ kind: 'file', path: '-', from: '--token-file', fixHint: 'Mend it.' }, reading(stdin)),
    ).toBe('pat_stdin');
  });

  it.each<[string, (path: string) => TokenSource]>([
    ['a file', (path) => ({ kind: 'file', path, from: '--token-file', fixHint: 'Mend it.' })],
    ['a command', (path) => ({ kind: 'command', command: `cat ${path}`, from: COMMAND, fixHint: 'Mend it.' })],
    [
      'an endless command',
      () => ({ kind: 'command', command: "yes x | tr -d '\\n'", from: COMMAND, fixHint: 'Mend it.' }),
    ],
  ])('rejects a first line of %s that is longer than a token', async (_, source) => {
    const path = join(tempDirectory(), 'token');
    writeFileSync(path, `${'x'.repeat(20_000)}\nsecond line\n`);
    const error = await readToken(source(path), reading(nothing())).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CredentialsError);
    expect(String(error)).toMatch(/first line .* is longer than 16 KiB/);
    expect(String(error)).not.toContain('xxx');
  });

  it('stops reading standard input without a line feed', async () => {
    const stdin = new Readable({ read: (size) => void stdin.push('x'.repeat(Math.min(size, 4096))) });
    await expect(
      readToken({ kind: 'file', path: '-', from: '--token-file', fixHint: 'Mend it.' }, reading(stdin)),
    ).rejects.toThrow('longer');
  });

  it.each([
    ['more output than a pipe holds', 'echo pat_command; head -c 1000000 /dev/zero'],
    ['a background process that keeps the pipe open', 'echo pat_command; sleep 600 & echo $! > PID'],
  ])('uses the first line of a command with %s', async (_, command) => {
    const pidFile = join(tempDirectory(), 'pid');
    const source = {
      kind: 'command',
      command: command.replace('PID', pidFile),
      from: COMMAND,
      fixHint: 'Mend it.',
    } as const;
    expect(await readToken(source, reading(nothing()))).toBe('pat_command');
    if (existsSync(pidFile)) process.kill(Number(readFileSync(pidFile, 'utf8')));
  });

  it('fails as soon as the command has failed, even if a background process keeps the pipe open', async () => {
    const pidFile = join(tempDirectory(), 'pid');
    const source = {
      kind: 'command',
      command: `sleep 600 & echo $! > ${pidFile}; exit 7`,
      from: COMMAND,
      fixHint: 'Mend it.',
    } as const;
    await expect(readToken(source, reading(nothing()))).rejects.toThrow('Profile "p"\'s token_command failed.');
    process.kill(Number(readFileSync(pidFile, 'utf8')));
  });

  it('ends a command that takes too long, and does not repeat its output', async () => {
    const { signal } = new AbortController();
    const hanging = runSecretCommand("printf 'pat_partial'; exec sleep 60", COMMAND, signal, 200);
    const error = await hanging.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ exitCode: 3, info: { why: 'no result within 0.2 s' } });
    expect(JSON.stringify(error)).not.toContain('pat_partial');
  });

  it('on Ctrl-C, kills a command that hangs', async () => {
    const control = new AbortController();
    const fetching = readToken(
      { kind: 'command', command: 'exec sleep 60', from: COMMAND, fixHint: 'Mend it.' },
      reading(nothing(), control.signal),
    );
    setImmediate(() => control.abort());
    await expect(fetching).rejects.toThrow();
  });
});
