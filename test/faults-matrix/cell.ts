import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findCanary, findDuplicates, findErrorBlockProblems, findMissing } from './checks.ts';
import type { MatrixCommand } from './commands.ts';
import { allowedCodes, kindOf } from './exit-codes.ts';
import type { Fault } from './fault.ts';
import { FaultProxy } from './proxy.ts';
import { type CommandEnd, runCommand } from './run-command.ts';
import { startWorld, type World } from './world.ts';

/** The limit of a command that only a time limit ends, and of the others. */
const SHORT_TIMEOUT_MS = 2_500;
const TIMEOUT_MS = 600_000;
/** What a busy machine may add. */
const SLACK_MS = 20_000;

export interface Cell {
  readonly command: MatrixCommand;
  readonly fault: Fault;
  /** The number of the faulty request, from 1. */
  readonly at: number;
  /** That request, as it is without faults. */
  readonly request: { readonly method: string; readonly path: string };
  /** Where responses point to that lead elsewhere, and what arrived there. */
  readonly elsewhere: { readonly origin: string; readonly received: () => string };
}

function timeoutOf(fault: Fault | undefined): number {
  return fault?.meaning === 'late' ? SHORT_TIMEOUT_MS : TIMEOUT_MS;
}

async function runOnce(command: MatrixCommand, world: World, proxy: FaultProxy, fault?: Fault): Promise<CommandEnd> {
  const timeoutMs = timeoutOf(fault);
  return runCommand({
    argv: [...command.argv(world), '--timeout', `${timeoutMs}ms`],
    stdin: command.stdin,
    env: { PARTNER_BASE_URL: proxy.baseUrl, PARTNER_TOKEN: world.token },
    home: world.home,
    interruptAfterLines: command.interruptAfterLines,
    realTime: fault?.meaning === 'late',
  });
}

async function prepare(command: MatrixCommand): Promise<World> {
  const world = await startWorld();
  for (const [name, text] of Object.entries(command.files ?? {})) await writeFile(join(world.home, name), text);
  return world;
}

/** Runs a command without faults. @returns its requests, in order */
export async function recordRequests(command: MatrixCommand): Promise<readonly Cell['request'][]> {
  const world = await prepare(command);
  const proxy = new FaultProxy({ target: world.sandbox.baseUrl, elsewhere: '' });
  await proxy.start();
  try {
    const { code, stderr } = await runOnce(command, world, proxy);
    if (code !== 0) throw new Error(`${command.name} ends with ${code} without faults: ${stderr}`);
    return [...proxy.requests];
  } finally {
    await proxy.close();
    await world.close();
  }
}

/** Runs one cell. @returns what is wrong with it, one line per problem; empty if nothing is */
export async function runCell(cell: Cell): Promise<readonly string[]> {
  const { command, fault, at, elsewhere } = cell;
  const world = await prepare(command);
  const proxy = new FaultProxy({ target: world.sandbox.baseUrl, elsewhere: elsewhere.origin, fault, at });
  await proxy.start();
  try {
    const before = await world.things();
    const first = await runOnce(command, world, proxy, fault);
    await proxy.heal();
    const problems = proxy.hits === 0 && !fault.closesKeptAlive ? ['the fault did not happen'] : [];
    problems.push(...checkRun('', cell, first, allowedCodes(command, fault, kindOf(cell.request))));
    problems.push(...(await checkThings('', command, before, world, first.code)));
    const repeated = await runOnce(command, world, proxy);
    problems.push(...checkRun('repeated: ', cell, repeated, repeatCodes(command, first.code)));
    problems.push(...(await checkThings('repeated: ', command, before, world, repeated.code)));
    problems.push(...findCanary('a file', await world.files(), world.token));
    problems.push(...findCanary('stdout or stderr', [first, repeated].map(String).join('\n'), world.token));
    problems.push(...findCanary('what went elsewhere', elsewhere.received(), world.token));
    return problems;
  } finally {
    await proxy.close();
    await world.close();
  }
}

function repeatCodes({ repeat }: MatrixCommand, code: number): readonly number[] {
  if (code === 0) return repeat.afterDone;
  return code === 9 || code === 10 ? repeat.afterUnknown : repeat.afterFailure;
}

function checkRun(label: string, { fault }: Cell, end: CommandEnd, codes: readonly number[]): string[] {
  const problems = findErrorBlockProblems(end);
  if (!codes.includes(end.code)) problems.push(`exit code ${end.code} instead of ${codes.join(' or ')}`);
  if (end.ms > timeoutOf(fault) + SLACK_MS) problems.push(`took ${Math.round(end.ms)} ms`);
  if (problems.length > 0) problems.push(`stdout: ${end.stdout}\nstderr: ${end.stderr}`);
  return problems.map((problem) => label + problem);
}

/** Nothing twice; after success everything, and after a failure that is certain nothing of what happens only once. */
async function checkThings(
  label: string,
  { adds, repeat }: MatrixCommand,
  before: readonly string[],
  world: World,
  code: number,
): Promise<string[]> {
  const things = await world.things();
  const problems = findDuplicates(things);
  const isDone = code === 0 || (code === 5 && repeat.afterDone.includes(5));
  if (isDone) problems.push(...findMissing(things, [...before, ...adds]));
  return problems.map((problem) => label + problem);
}
