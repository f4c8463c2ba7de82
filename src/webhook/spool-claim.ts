import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { makeDirectories } from '../config/make-directories.ts';
import { errorCode, LocalError } from '../errors.ts';
import { writeDurably } from './saved-file.ts';
import { unusableDirectory } from './spool.ts';

/** How long a running process may take to respond, in milliseconds. */
const TIMEOUT_MS = 2_000;

const CLAIM = /^listening-[0-9a-f-]{36}\.json$/;

/** Whether a receiver listens at this URL. */
function isListening(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { timeout: TIMEOUT_MS, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 405);
    });
    request.on('timeout', () => {
      resolve(true);
      request.destroy();
    });
    // A receiver with too many connections closes further ones.
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
 * Claims a directory for this process, and creates it if it is missing. The claim is a file with the URL where this process
 * listens. Every process writes its own before it reads the others, so that of two that start at once at most one
 * continues. Claims of killed processes are removed.
 * @param url where this process already listens
 * @returns releases the claim
 * @throws LocalError if a running process has claimed the directory, or it cannot be written to
 */
export async function claimSpool(directory: string, url: string): Promise<() => Promise<void>> {
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
    const otherUrl = await readUrl(path);
    // A killed process may have had the URL that this one has now.
    if (otherUrl !== undefined && otherUrl !== url && (await isListening(otherUrl))) {
      await release();
      throw new LocalError('Another `webhook listen` uses the same directory.', {
        why: `It listens on port ${new URL(otherUrl).port}, and saves its deliveries in ${directory}.`,
        hint: 'Stop it, or use another directory with --save.',
      });
    }
    await rm(path, { force: true });
  }
  return release;
}
