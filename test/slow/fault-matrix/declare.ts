import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { recordRequests, runCell } from './cell.ts';
import type { MatrixCommand } from './command.ts';
import { FAULTS } from './faults.ts';
import { canHave } from './proxy.ts';

/** A server that records what it receives, and never responds. */
async function startElsewhere() {
  let received = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      received += data;
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { origin: `http://127.0.0.1:${port}`, received: () => received, close: () => server.close() };
}

/** The numbers of the first, the middle, and the last of that many requests, as far as they exist. */
function positions(count: number): readonly (readonly [name: string, at: number])[] {
  const all = [
    ['first', 1],
    ['last', count],
    ['middle', Math.ceil((count + 1) / 2)],
  ] as const;
  return all.filter(([, at], index) => at >= 1 && all.findIndex(([, other]) => other === at) === index);
}

/** The cells to run: those whose name starts with this. */
const ONLY = process.env.FAULTS_ONLY ?? '';

/** Declares a test for every fault at every position of the commands. */
export async function declareCells(commands: readonly MatrixCommand[]): Promise<void> {
  const elsewhere = await startElsewhere();
  afterAll(() => elsewhere.close());
  for (const command of commands) {
    if (!ONLY.startsWith(`${command.name}/`) && !command.name.startsWith(ONLY)) continue;
    const requests = await recordRequests(command);
    for (const fault of FAULTS) {
      const eligible = requests.filter((request) => canHave(fault, request));
      for (const [position, at] of positions(eligible.length)) {
        const name = `${command.name}/${fault.name}/${position}`;
        const request = eligible[at - 1];
        const hasConnectionBefore = at > 1 || !fault.closesKeptAlive;
        if (!request || !hasConnectionBefore || !name.startsWith(ONLY)) continue;
        test.concurrent(name, async () => {
          const problems = await runCell({ command, fault, at, request }, elsewhere.origin);
          if (problems.length > 0) throw new Error(problems.join('\n'));
        });
      }
    }
  }
  test('nothing is sent to another origin', () => {
    expect(elsewhere.received()).toBe('');
  });
}
