import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LocalError } from '../errors.ts';
import type { Environment } from '../state/location.ts';
import type { PostgresTarget } from '../state/postgres-address.ts';

/** Splits a line `host:port:database:user:password`. A backslash escapes a colon. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) => field.replace(/\\(.)/g, '$1'));
}

/** Finds the password in the text of a PGPASSFILE. */
function passwordIn(text: string, { host, port, database, user }: PostgresTarget['connection']): string | undefined {
  const expected = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = fieldsOf(line);
    const [password] = fields.slice(expected.length);
    if (password !== undefined && expected.every((value, index) => fields[index] === '*' || fields[index] === value))
      return password;
  }
  return undefined;
}

/** Returns the password in PGPASSFILE or ~/.pgpass, as psql does. @throws LocalError if the file cannot be used */
export async function findPassword(
  target: PostgresTarget['connection'],
  env: Environment,
): Promise<string | undefined> {
  const path = env.PGPASSFILE || join(env.HOME || homedir(), '.pgpass');
  const status = await stat(path).catch(() => undefined);
  if (!status) {
    if (!env.PGPASSFILE) return undefined;
    throw new LocalError(`PGPASSFILE names a file that cannot be read: ${path}`, {
      hint: 'Correct PGPASSFILE, or unset it.',
    });
  }
  if (process.platform !== 'win32' && (status.mode & 0o077) !== 0) {
    throw new LocalError(`Other users can read the passwords in ${path}.`, { hint: `Run: chmod 600 ${path}` });
  }
  return passwordIn(await readFile(path, 'utf8'), target);
}
