import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { makeDirectories } from '../config/make-directories.ts';
import { errorCode, LocalError } from '../errors.ts';
import { writeDurably } from './saved-file.ts';
import { unusableDirectory } from './spool.ts';

/** How long a living process may take to answer, in milliseconds. */
const ANSWER_MS = 2_000;

const CLAIM = /^listening-[0-9a-f-]{36}\.json$/;

/** Whether a process listens there. After a restart of the machine or container, the connection is refused. */
function isListening(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { timeout: ANSWER_MS, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 405);
    });
    request.on('timeout', () => {
      resolve(true);
      request.destroy();
    });
    // A process that closes the connection is alive, but has too many connections.
    request.on('error', (error) => resolve(errorCode(error) === 'ECONNRESET'));
  });
}

async function readUrl(path: string): Promise<string | undefined> {
  try {
    const { url } = JSON.parse(await readFile(path, 'utf8'));
    return typeof url === 'string' && URL.canParse(url) ? url : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Claims a directory for this process, and creates it if it is missing: a file in it names the address where this process
 * listens. Every process writes its file before it looks for others, so that of two that start at once, never both continue.
 * Files that killed processes left are removed.
 * @param url where this process listens already
 * @returns gives the directory back
 * @throws LocalError if another process that uses the directory is alive, or files cannot be written there
 */
export async function claimDirectory(directory: string, url: string): Promise<() => Promise<void>> {
  const own = `listening-${randomUUID()}.json`;
  const release = (): Promise<void> => rm(join(directory, own), { force: true });
  try {
    await makeDirectories(directory);
    await writeDurably(join(directory, own), `${JSON.stringify({ url })}\n`);
  } catch (error) {
    throw unusableDirectory(directory, error);
  }
  const others = (await readdir(directory)).filter((name) => CLAIM.test(name) && name !== own);
  for (const other of others) {
    const path = join(directory, other);
    const address = await readUrl(path);
    // A killed process may have had the address that this one has now.
    if (address !== undefined && address !== url && (await isListening(address))) {
      await release();
      throw new LocalError('Another `webhook listen` uses the same directory.', {
        why: `It listens on port ${new URL(address).port}, and keeps its deliveries in ${directory}.`,
        hint: 'Stop it, or give another --save directory.',
      });
    }
    await rm(path, { force: true });
  }
  return release;
}
