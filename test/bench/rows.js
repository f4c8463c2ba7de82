import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { peakMemory } from './sandbox.js';

function* rows(count, bytes) {
  const text = 'x'.repeat(bytes);
  for (let index = 0; index < count; index += 1) {
    yield `${JSON.stringify({ session_id: `s${index % 1_000}`, text: `${index} ${text}` })}\n`;
  }
}

/** A service that acknowledges every message, and keeps none. */
async function acknowledgingService() {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      count += 1;
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message_id: `msg_${count}`, created: true }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, env: { PARTNER_BASE_URL: `http://127.0.0.1:${server.address().port}/v1`, PARTNER_TOKEN: 'bench' } };
}

/** The peak memory of `chat send -f` in MiB. @param bytes of the text of each row */
export async function memoryOfRows(count, bytes, ...more) {
  const directory = await mkdtemp(join(tmpdir(), 'partnerctl-bench-'));
  const { server, env } = await acknowledgingService();
  try {
    const path = join(directory, 'rows.ndjson');
    await pipeline(Readable.from(rows(count, bytes)), createWriteStream(path));
    const state = ['--state', join(directory, 'state.jsonl')];
    return await peakMemory(['chat', 'send', '-f', path, '--source', 'src_1', '-o', 'ndjson', ...state, ...more], env);
  } finally {
    server.close();
    server.closeAllConnections();
    await rm(directory, { recursive: true });
  }
}
