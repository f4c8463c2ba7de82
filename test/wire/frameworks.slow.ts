import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { startFakeService } from '../support/fake-service.ts';
import { newMachine, runCell, type Verdict } from './cell.ts';
import type { Facts } from './facts.ts';
import { OPERATIONS } from './operations.ts';
import type { Answer } from './pages.ts';
import { newServer, parseJson, type Server } from './server.ts';
import type { Service } from './service.ts';

/* The service on real frameworks, each with its own habits and the document that it generates. */

const DIRECTORY = fileURLToPath(new URL('frameworks/', import.meta.url));

/** Installs the frameworks, which are a package of their own. @returns why that is not possible */
function install(): string | undefined {
  const installed = `${DIRECTORY}node_modules/.package-lock.json`;
  const isCurrent =
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${DIRECTORY}package-lock.json`).mtimeMs;
  if (isCurrent) return undefined;
  const argv = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status, stderr, error } = spawnSync('npm', argv, { cwd: DIRECTORY, encoding: 'utf8' });
  return status === 0 ? undefined : (error?.message ?? stderr.trim().split('\n')[0]);
}

/** What a file of the package exports. */
interface Framework {
  readonly names: Omit<Service, 'list'>;
  readonly documentPath: string;
  readonly createListener: (facts: () => Facts) => Promise<RequestListener>;
}

/** The number of items on a page: what is common, and small enough for several pages. */
const PAGE_SIZE = 10;

async function serve(file: string): Promise<Server> {
  const { names, documentPath, createListener }: Framework = await import(`./frameworks/${file}.js`);
  const service: Service = { ...names, list: ({ items }) => items };
  const server = newServer(service, PAGE_SIZE);
  const listener = await createListener(() => server.facts);
  const { baseUrl, stop } = await startFakeService({
    onHeaders({ incoming }, response) {
      record(response, server.answers);
      listener(incoming, response);
    },
  });
  return Object.assign(server, { baseUrl, stop, documentUrl: new URL(documentPath, baseUrl).href });
}

/** Adds a response to the answers once it is complete. */
function record(response: ServerResponse, answers: Answer[]): void {
  const chunks: Buffer[] = [];
  for (const name of ['write', 'end'] as const) {
    const original = response[name];
    response[name] = (...args: unknown[]) => {
      const [chunk] = args;
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
      return Reflect.apply(original, response, args);
    };
  }
  response.on('finish', () => {
    const text = Buffer.concat(chunks).toString();
    const isJson = /json/.test(String(response.getHeader('content-type')));
    answers.push({ status: response.statusCode, ...(isJson && { body: parseJson(text) }) });
  });
}

/** Runs every operation, and prints the verdicts. @returns those that are not accepted, with the reason */
async function findFaults(server: Server, commands: readonly string[][], accepted: readonly Verdict['verdict'][]) {
  const machine = await newMachine(server, commands);
  const cells: (Verdict & { readonly operation: string })[] = [];
  for (const [operation, steps] of Object.entries(OPERATIONS))
    cells.push({ operation, ...(await runCell(server, steps, machine)) });
  const refused = cells.filter(({ verdict }) => verdict === 'refused').map(({ operation }) => operation);
  const when = commands.length === 0 ? 'before' : 'after';
  process.stdout.write(`${server.service.name} ${when} the import, refused: ${refused.join(', ') || 'none'}\n`);
  const faults = cells.filter(({ verdict }) => !accepted.includes(verdict));
  return faults.map(({ operation, verdict, reason }) => `${operation} ${verdict}: ${reason}`);
}

const failure = install();
if (failure !== undefined)
  process.stdout.write(`The frameworks are not tested: they cannot be installed (${failure}).\n`);

describe.skipIf(failure !== undefined).each(['fastify', 'hono', 'nest'])('%s', (file) => {
  test('has no operation that is wrong before its document is imported', async () => {
    const server = await serve(file);
    expect(await findFaults(server, [], ['works', 'refused'])).toEqual([]);
  });

  test('has every operation once its document is imported', async () => {
    const server = await serve(file);
    const imports = [['contract', 'import', server.documentUrl, '--yes']];
    expect(await findFaults(server, imports, ['works'])).toEqual([]);
  });
});
