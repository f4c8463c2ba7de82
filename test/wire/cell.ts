import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fastClock, type Ran, run, tempDirectory, tinyRandom } from '../support/run.ts';
import { FILES, LAST_SPACE, manifestOfLastSpace, type Operation } from './operations.ts';
import { chooseCommand, findRefusalProblems } from './refusal.ts';
import type { Server } from './server.ts';

/** `works`: done, and all of it right. `refused`: not done, with the way to settle it. `wrong`: anything else. */
export interface Verdict {
  readonly verdict: 'works' | 'refused' | 'wrong';
  /** What is wrong, and the command with its output. */
  readonly reason: string;
  readonly stderr: string;
}

/** Runs a command line on a machine: with its home, and so with its contract and its state. */
async function runOn(home: string, server: Server, argv: readonly string[]): Promise<Ran> {
  return await run(
    argv.map((word) => (word in FILES || word === LAST_SPACE ? join(home, word) : word)),
    {
      env: { HOME: home, PARTNER_BASE_URL: server.baseUrl, PARTNER_TOKEN: 'token-of-the-wire-tests' },
      clock: fastClock(),
      random: tinyRandom,
    },
  );
}

/** A home directory, and the failure of the commands that prepared it. */
export interface Machine {
  readonly home: string;
  readonly failure: string | undefined;
}

/** Prepares a machine with these commands. */
export async function newMachine(server: Server, commands: readonly (readonly string[])[] = []): Promise<Machine> {
  const home = tempDirectory();
  writeFileSync(join(home, LAST_SPACE), manifestOfLastSpace(server.facts));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(home, name), text);
  for (const argv of commands) {
    const { code, stderr } = await runOn(home, server, argv);
    if (code !== 0) return { home, failure: `partnerctl ${argv.join(' ')} (exit ${code})\n${stderr}` };
  }
  return { home, failure: undefined };
}

/** Runs an operation at a service with its first data, on a copy of a machine, and judges it by the service's data. */
export async function runCell(server: Server, operation: Operation, { home, failure }: Machine): Promise<Verdict> {
  if (failure !== undefined) return { verdict: 'refused', reason: failure, stderr: '' };
  server.reset();
  const before = countCreated(server);
  const first = copyOf(home);
  for (const { argv, code = 0, isElsewhere, isGuard, check } of operation(server)) {
    const ran = await runOn(isElsewhere ? copyOf(home) : first, server, argv);
    const isRefused = ran.code !== code;
    const problems = isRefused ? [] : check(ran, server);
    const duplicates = server.facts.duplicates().map((name) => `twice: ${name}`);
    if (!isRefused && problems.length + duplicates.length === 0) continue;
    const harm = [
      ...duplicates,
      ...(isRefused ? findHiddenEffects(ran, server, before) : []),
      ...(isGuard && isRefused
        ? server.writes.map((path) => `it is refused, and yet something is sent to ${path}`)
        : []),
      ...problems.filter(({ excuse }) => !excuse?.test(ran.stderr)).map(({ text }) => text),
      ...(isRefused && server.faults === 0 ? findRefusalProblems(ran, server.answers.at(-1)) : []),
      ...(isRefused && ran.code === 0 ? ['it is done instead of refused'] : []),
    ];
    const output = [`partnerctl ${argv.join(' ')} (exit ${ran.code})`, ran.stdout, ran.stderr];
    const reason = [...harm, ...output].join('\n');
    return { verdict: harm.length > 0 ? 'wrong' : 'refused', reason, stderr: ran.stderr };
  }
  return { verdict: 'works', reason: '', stderr: '' };
}

/** The number of things that nothing but an error tells of if their creation is refused. */
function countCreated({ facts, added }: Server): number {
  return facts.jobs.length - added + facts.uploads.length;
}

/** Finds what a refusal did anyway: it printed a message of another session, or created something without a word. */
function findHiddenEffects({ code, stdout }: Ran, server: Server, before: number): string[] {
  return [
    ...(/Ben's|Elsewhere/.test(stdout) ? ['a message of another session is printed'] : []),
    ...(code !== 9 && countCreated(server) > before ? ['something was created, and the exit code is not 9'] : []),
  ];
}

function copyOf(home: string): string {
  const copy = tempDirectory();
  cpSync(home, copy, { recursive: true });
  return copy;
}

/**
 * Runs a refused operation again as an operator would who first pastes the command that the refusal names.
 * @param limit the maximum number of commands that the operator pastes
 * @returns the last verdict, and the commands that were pasted
 */
export async function settle(
  server: Server,
  operation: Operation,
  refused: Verdict,
  limit: number,
): Promise<Verdict & { readonly pasted: readonly (readonly string[])[] }> {
  const pasted: (readonly string[])[] = [];
  let result = refused;
  while (result.verdict === 'refused' && pasted.length < limit) {
    const command = chooseCommand(server, result.stderr);
    if (command === undefined) break;
    pasted.push(command);
    result = await runCell(server, operation, await newMachine(server, pasted));
  }
  const lines = pasted.map((argv) => `pasted: partnerctl ${argv.join(' ')}`);
  return { ...result, reason: [...lines, result.reason].join('\n'), pasted };
}
