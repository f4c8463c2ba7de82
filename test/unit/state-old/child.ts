/**
 * A separate process that uses the log: `append <path> <writer> <count>`, `groups <path> <writer> <count>` (eight records at a
 * time), `fill <path>`, `recover <path>` (twice), or `read <path...>`. It reports on stdout, one line each: each id once it is
 * recorded, each failure as JSON, each read as JSON, the path of each recovery file.
 */
import { toErrorObject } from '../../../src/output/error-object.ts';
import { appendRecord } from '../../../src/state-old/append.ts';
import { fileStore, readLog } from '../../../src/state-old/file-store.ts';
import { type NewRecord, randomRecordId } from '../../../src/state-old/record.ts';
import { writeRecovery } from '../../../src/state-old/recovery.ts';

function say(line: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()));
}

type Append = (path: string, record: NewRecord) => Promise<void>;

async function append(path: string, id: string, bytes: number, write: Append = appendRecord): Promise<boolean> {
  try {
    const fields = { fill: 'x'.repeat(bytes) };
    await write(path, { type: 'note', at: new Date().toISOString(), id, ...fields });
    await say(id);
    return true;
  } catch (error) {
    await say(JSON.stringify(toErrorObject(error)));
    return false;
  }
}

async function read(path: string): Promise<void> {
  let records = 0;
  let damaged = 0;
  try {
    for await (const { kind } of readLog(path)) {
      if (kind === 'record') records += 1;
      if (kind === 'damaged') damaged += 1;
    }
    await say(JSON.stringify({ records, damaged }));
  } catch (error) {
    await say(JSON.stringify(toErrorObject(error)));
  }
}

const [task, ...args] = process.argv.slice(2);
const [path = ''] = args;
if (task === 'append') {
  const [, writer, count] = args;
  // Sizes on both sides of a page of memory, the unit in which a killed write is torn.
  for (let n = 0; n < Number(count); n += 1) await append(path, `${writer}-${n}`, (n % 7) * 900);
} else if (task === 'groups') {
  const [, writer, count] = args;
  const log = fileStore(path).open();
  const write: Append = (_, record) => log.append(record, { kind: 'other' });
  for (let n = 0; n < Number(count); n += 1) {
    await Promise.all(
      Array.from({ length: 8 }, (_, at) => append(path, `${writer}-${n}-${at}`, (at % 7) * 900, write)),
    );
  }
} else if (task === 'fill') {
  for (let n = 0; await append(path, `fill-${n}`, 1000); n += 1);
  await append(path, 'one-more', 5000);
} else if (task === 'recover') {
  const record = { type: 'note', at: new Date().toISOString(), id: randomRecordId() };
  for (let n = 0; n < 2; n += 1) await say(String(await writeRecovery(path, record)));
} else if (task === 'read') {
  for (const each of args) await read(each);
}
