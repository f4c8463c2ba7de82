import { expect, it } from 'vitest';
import { COMMAND_LINES } from '../../support/command-lines.ts';
import { startFakeService } from '../../support/fake-service.ts';
import { canHave, recordRequests, runCell } from './cell.ts';
import { COMMANDS, type MatrixCommand } from './commands.ts';
import { type RequestLine, roleOf } from './exit-codes.ts';
import { FAULTS, type Fault } from './faults.ts';

/* Twelve commands × nineteen faults of the service and the network, each at the first, a middle, and the last request. */

/** Which cells to run: all, or one in so many. */
const EVERY = Number(process.env.FAULTS_EVERY ?? 1);

const WRITES = new Set(COMMAND_LINES.flatMap(({ words, sends }) => (sends === 'writes' ? [words] : [])));

const CELLS = COMMANDS.flatMap((command, row) =>
  FAULTS.map((fault, column) => ({ command, fault, number: row + column })),
)
  .filter(({ command, fault }) => fault.only !== 'writes' || WRITES.has(command.words))
  .filter(({ number }) => number % EVERY === 0)
  .map(({ command, fault }) => [command.name, fault.name, command, fault] as const);

const recorded = new Map<MatrixCommand, readonly RequestLine[]>();

async function requestsOf(command: MatrixCommand): Promise<readonly RequestLine[]> {
  const requests = recorded.get(command) ?? (await recordRequests(command));
  recorded.set(command, requests);
  return requests;
}

/** The numbers of the first, a middle, and the last of these requests, as far as they exist. */
function positions({ isThroughout }: Fault, count: number): readonly number[] {
  const numbers = isThroughout ? [1] : [1, Math.ceil((count + 1) / 2), count];
  return [...new Set(numbers)].filter((at) => at >= 1 && at <= count);
}

it.each(CELLS)('%s / %s', async (_, __, command, fault) => {
  const elsewhere = await startFakeService(() => undefined);
  const requests = await requestsOf(command);
  const possible = requests.filter((request) => canHave(fault, request));
  const problems: string[] = [];
  for (const at of positions(fault, possible.length)) {
    const request = possible[at - 1];
    if (!request) continue;
    const role = roleOf(request, requests);
    const found = await runCell({ command, fault, at, request, role, elsewhere: new URL(elsewhere.baseUrl).origin });
    problems.push(
      ...found.map((problem) => `request ${at} of ${possible.length} (${request.method} ${request.path}): ${problem}`),
    );
  }
  if (problems.length > 0) expect.fail(problems.join('\n'));
  expect(elsewhere.requests).toEqual([]);
});
