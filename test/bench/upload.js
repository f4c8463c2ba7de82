import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROGRAM, peakMemory, ratio, wallTime, withService } from './measure.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** @returns the path of a sparse file */
async function makeFile(home, bytes) {
  const path = join(home, `${bytes}.bin`);
  await writeFile(path, '');
  await truncate(path, bytes);
  return path;
}

/** The arguments of Node that upload a file, even if it was uploaded before. */
export async function uploadFile(home, bytes) {
  return [PROGRAM, 'upload', await makeFile(home, bytes), '--force', '-o', 'json'];
}

/** The record of an upload has the hash of the file, so curl computes it, too. */
const besideCurl = (rounds) =>
  withService({}, async (env) => {
    const ours = [process.execPath, ...(await uploadFile(env.HOME, GIB))];
    const path = await makeFile(env.HOME, GIB);
    const address = `${env.PARTNER_BASE_URL}/automation/file-attachments/`;
    const curl = ['curl', '--silent', '--fail', '--form', `file=@${path}`, address];
    return await ratio(
      Math.min(rounds, 5),
      () => wallTime(ours, env),
      async () => (await wallTime(curl, env)) + (await wallTime(['sha256sum', path], env)),
    );
  });

const besideSmallFile = () =>
  withService({}, async (env) => {
    const peak = async (bytes) => peakMemory(await uploadFile(env.HOME, bytes), env);
    return (await peak(GIB)) / (await peak(100 * MIB));
  });

export const rows = [
  { name: 'upload of 1 GiB, beside curl -F and sha256sum', limit: 1.1, measure: besideCurl },
  { name: 'memory of an upload of 1 GiB, beside one of 100 MiB', limit: 1.2, measure: besideSmallFile },
];
