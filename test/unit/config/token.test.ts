import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkToken, fetchToken } from '../../../src/config/token.ts';
import { CredentialsError } from '../../../src/errors.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { tempDirectory } from '../../helpers/run.ts';

const NEVER = new AbortController().signal;
const nothing = () => Readable.from([]);

describe('checkToken', () => {
  it.each(['pat_0123', ' pat_0123\n', 'a.b-c_d~e+f/g=', '\ufeffpat_0123'])('accepts %j', (text) => {
    expect(checkToken(text, 'here')).toBe(text.trim());
  });

  it.each(['', ' \n', 'two words', 'two\nlines', 'pat_\u0000x', 'pat_é', 'pat_\u200b0123', 'pat_\r\nx-evil: 1'])(
    'rejects %j',
    (text) => {
      expect(() => checkToken(text, 'here')).toThrow(CredentialsError);
    },
  );

  it('property: returns printable ASCII, or throws an error without the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, minLength: 12 }), (text) => {
        try {
          expect(checkToken(text, 'here')).toMatch(/^[!-~]+$/);
        } catch (error) {
          expect(error).toBeInstanceOf(CredentialsError);
          expect(String(error)).not.toContain(text);
        }
      }),
    );
  });
});

describe('fetchToken', () => {
  it('reads the first non-empty line of a file', async () => {
    const path = join(tempDirectory(), 'token');
    writeFileSync(path, '\n\r\n  pat_file \r\nsecond line\n');
    expect(await fetchToken({ kind: 'file', path, from: '--token-file' }, nothing(), NEVER)).toBe('pat_file');
  });

  it('names a file that does not exist', async () => {
    const path = join(tempDirectory(), 'none');
    await expect(fetchToken({ kind: 'file', path, from: '--token-file' }, nothing(), NEVER)).rejects.toThrow(path);
  });

  it('reads standard input in chunks', async () => {
    const stdin = Readable.from([Buffer.from('pat_'), Buffer.from('stdin'), Buffer.from('\nrest')]);
    expect(await fetchToken({ kind: 'file', path: '-', from: '--token-file' }, stdin, NEVER)).toBe('pat_stdin');
  });

  it('does not wait for the end of standard input', async () => {
    const stdin = new PassThrough();
    stdin.write('\npat_stdin\n');
    expect(await fetchToken({ kind: 'file', path: '-', from: '--token-file' }, stdin, NEVER)).toBe('pat_stdin');
  });

  it('stops reading standard input that has no line feed', async () => {
    const stdin = new Readable({ read: (size) => void stdin.push('x'.repeat(Math.min(size, 4096))) });
    const token = await fetchToken({ kind: 'file', path: '-', from: '--token-file' }, stdin, NEVER).catch(() => '');
    expect(token.length).toBeLessThan(40_000);
  });

  it('stops a command that hangs on Ctrl-C', async () => {
    const control = new AbortController();
    const fetching = fetchToken(
      { kind: 'command', command: 'exec sleep 60', from: 'profile p' },
      nothing(),
      control.signal,
    );
    setImmediate(() => control.abort());
    await expect(fetching).rejects.toThrow();
  });
});
