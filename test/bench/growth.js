import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createJobs, provisionSpaces } from './bulk.js';
import { median, PROGRAM, wallTime, withService } from './measure.js';
import { uploadFile } from './upload.js';

const MIB = 1024 * 1024;

/**
 * The cost of an item among ten times as many, beside that of one among `few`.
 * @param prepare gets the number of items and the home directory. Returns the arguments of Node
 * @param service what the service has, given the number of items
 */
function row(what, few, prepare, service = () => ({})) {
  const cost = (count) =>
    withService(service(count), async (env) => wallTime([process.execPath, ...(await prepare(count, env.HOME))], env));
  const measure = async (rounds) => {
    const ratios = [];
    for (let round = 0; round < Math.min(rounds, 3); round += 1) {
      // A run with one item is what every run costs; counted, it would hide growth.
      const [fixed, less, more] = [await cost(1), await cost(few), await cost(10 * few)];
      ratios.push((more - fixed) / 10 / (less - fixed));
    }
    return median(ratios);
  };
  return {
    name: `growth: each ${what} of ${(10 * few).toLocaleString('en')}, beside ${few.toLocaleString('en')}`,
    limit: 1.1,
    measure,
  };
}

async function uploadFiles(count, home) {
  const files = join(home, 'files');
  await mkdir(files);
  for (let number = 0; number < count; number += 1)
    await writeFile(join(files, `${number}.txt`), `file ${number} `.repeat(300));
  return [PROGRAM, 'upload', files, '--recursive', '--concurrency', '16', '-o', 'json'];
}

const listSpaces = () => [PROGRAM, 'spaces', 'list', '-o', 'ndjson'];

const SESSION = ['--source', 'src_1', '--session', 'session-0'];
const readMessages = () => [PROGRAM, 'chat', 'tail', ...SESSION, '--from-start', '--no-follow', '-o', 'ndjson'];

export const rows = [
  row('new space', 500, provisionSpaces),
  row('new job', 500, createJobs),
  row('uploaded file', 500, uploadFiles),
  row('uploaded MiB', 200, (count, home) => uploadFile(home, count * MIB)),
  row('listed space', 10_000, listSpaces, (count) => ({ spaces: count })),
  row('message of a session', 3_000, readMessages, (count) => ({ sessions: 1, messages: count })),
];
