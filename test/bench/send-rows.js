import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { withDirectory } from './harness/directory.js';
import { peakMemory } from './harness/sandbox.js';
import { withService } from './harness/service.js';

function* linesOf(count, bytes) {
  const text = 'x'.repeat(bytes);
  for (let index = 0; index < count; index += 1) {
    yield `${JSON.stringify({ session_id: `s${index % 1_000}`, text: `${index} ${text}` })}\n`;
  }
}

/** Acknowledges every message, and stores none. */
function acknowledge() {
  let count = 0;
  return () => {
    count += 1;
    return JSON.stringify({ message_id: `msg_${count}`, created: true });
  };
}

/** The peak memory of `chat send -f` in MiB. @param bytes the size of the text of each row */
function memoryOfRows(count, bytes, ...more) {
  return withService(acknowledge(), (env) =>
    withDirectory(async (directory) => {
      const path = join(directory, 'rows.ndjson');
      await pipeline(Readable.from(linesOf(count, bytes)), createWriteStream(path));
      const state = ['--state', join(directory, 'state.jsonl')];
      return await peakMemory(
        ['chat', 'send', '-f', path, '--source', 'src_1', '-o', 'ndjson', ...state, ...more],
        env,
      );
    }),
  );
}

async function memoryPerRow() {
  const [many, few] = [await memoryOfRows(100_000, 2_000, '--dry-run'), await memoryOfRows(10_000, 2_000, '--dry-run')];
  return { values: [((many - few) * 1024) / 90_000] };
}

async function longRows() {
  return { ours: [await memoryOfRows(2_000, 100_000)], theirs: [await memoryOfRows(200, 100_000)] };
}

export const rows = [
  { name: 'memory of each further row of 2 kB of chat send -f', unit: 'KiB', limit: 1, measure: memoryPerRow },
  { name: 'memory of sending 2,000 rows of 100 kB', beside: '200', unit: 'MiB', limit: 1.5, measure: longRows },
];
