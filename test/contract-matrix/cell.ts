import { documented } from './documentation.ts';
import type { Operation } from './operations.ts';
import { findRefusalProblems, type NamedCommand, namedCommands, namesLeaf } from './refusal.ts';
import { type CommandEnd, Scene, SLOW_CLOCK_SPEED } from './scene.ts';
import type { Service } from './service.ts';

/** `works`: done, and all of it correctly. `refused`: not done, with the reason and a way forward. `wrong`: anything else. */
type Verdict = 'works' | 'refused' | 'wrong';

export interface CellResult {
  readonly verdict: Verdict;
  /** Why it is wrong, or what refused it. */
  readonly reasons: readonly string[];
  /** The commands that a refusal names. */
  readonly commands: readonly NamedCommand[];
}

/** One operation at one service, while it runs. */
export class Cell {
  readonly service: Service;
  readonly scene: Scene;
  readonly problems: string[] = [];
  /** The first command that did not end as expected. */
  refusal: CommandEnd | undefined;

  constructor(service: Service, scene: Scene) {
    this.service = service;
    this.scene = scene;
  }

  get facts() {
    return this.scene.server.facts;
  }

  /**
   * Runs a command line, and checks its output if it ended with one of these codes. After a refusal, the commands that follow
   * run, too, because they must not create anything twice, but their output is ignored.
   */
  async run(
    argv: readonly string[],
    codes: readonly number[],
    check: (end: CommandEnd) => readonly string[] = () => [],
    machine?: string,
  ): Promise<CommandEnd> {
    const end = await this.scene.run(argv, machine);
    if (this.refusal) return end;
    if (!codes.includes(end.code)) this.refusal = end;
    else this.judge(check(end), end);
    return end;
  }

  /** Messages whose author is not recognized are shown, with a warning that is a refusal to say who wrote them. */
  private judge(problems: readonly string[], end: CommandEnd): void {
    const isUnrecognized = (problem: string): boolean => /^role is "(?!user"|assistant")/.test(problem);
    const isSaid = namesLeaf(end.stderr, 'message.author');
    if (isSaid && problems.length > 0 && problems.every(isUnrecognized)) this.refusal = end;
    else this.problems.push(...describe(problems, end));
  }
}

function describe(problems: readonly string[], end: CommandEnd): string[] {
  if (problems.length === 0) return [];
  return [...problems, `partnerctl ${end.argv.join(' ')} (exit ${end.code})`, end.stdout, end.stderr];
}

/** Runs an operation at a service that was never seen before, and judges it by the service's data: twice if it is wrong. */
export async function runCell(
  service: Service,
  operation: Operation,
  settings: readonly (readonly string[])[] = [],
): Promise<CellResult> {
  const result = await tryCell(operation, new Scene(service, settings));
  if (result.verdict !== 'wrong') return result;
  // On a busy machine, a command may time out before its requests are done.
  return await tryCell(operation, new Scene(service, settings, SLOW_CLOCK_SPEED));
}

async function tryCell(operation: Operation, scene: Scene): Promise<CellResult> {
  try {
    await scene.server.start();
    const cell = new Cell(scene.service, scene);
    await operation.perform(cell);
    const harm = [...findDuplicates(cell, operation), ...cell.problems];
    if (!cell.refusal) return { verdict: harm.length > 0 ? 'wrong' : 'works', reasons: harm, commands: [] };
    const problems = findRefusalProblems(cell.refusal, operation);
    const { argv, code, stdout, stderr } = cell.refusal;
    const what = [`partnerctl ${argv.join(' ')} (exit ${code})`, stdout, stderr];
    return {
      verdict: harm.length + problems.length > 0 ? 'wrong' : 'refused',
      reasons: [...harm, ...problems, ...what],
      commands: namedCommands(stderr),
    };
  } finally {
    await scene.close();
  }
}

function findDuplicates({ service, facts }: Cell, { needsJobList }: Operation): string[] {
  const isUnguarded = needsJobList && service.jobsStatus !== undefined;
  const things = facts.duplicates().filter((thing) => !(isUnguarded && thing.startsWith('job ')));
  return things.map((thing) => `twice: ${thing}`);
}

export interface ConfiguredResult extends CellResult {
  /** The commands from refusals that were run, as typed. */
  readonly settings: readonly string[];
}

/** The maximum number of commands from refusals that an operator runs. */
const ROUNDS = 2;

/**
 * Returns the command line that an operator copies from a refusal: the first one without a condition as it is printed, or the
 * first one whose condition is true. A placeholder is filled in from the service's documentation. To go on without a list
 * (`none`) is not what the operator wants, unless the service has none.
 */
function chooseCommand(service: Service, commands: readonly NamedCommand[]): readonly string[] | undefined {
  const isTrue = ({ settings }: NamedCommand): boolean =>
    settings.every(({ leaf, value }) => {
      const truth = documented(service, leaf);
      if (value === undefined || value === 'none') return truth !== undefined && (value ?? truth) === truth;
      return truth === undefined || value.split(',').some((name) => name.trim() === truth);
    });
  const isComplete = ({ settings }: NamedCommand): boolean =>
    settings.every(({ leaf, value }) => (value ?? documented(service, leaf)) !== undefined);
  const right = commands.filter((command) => (command.isConditional ? isTrue(command) : isComplete(command)));
  // Of several alternatives that are true, the one that settles more.
  const [chosen] = right[0]?.isConditional ? right.toSorted((a, b) => b.settings.length - a.settings.length) : right;
  return chosen?.settings.flatMap(({ leaf, value }) => [leaf, value ?? documented(service, leaf) ?? '']);
}

/** Runs an operation as an operator would, who runs the command in a refusal, and then the operation again. */
export async function runConfigured(service: Service, operation: Operation): Promise<ConfiguredResult> {
  const lines: string[][] = [];
  let result = await runCell(service, operation);
  for (let round = 0; round < ROUNDS && result.verdict === 'refused'; round += 1) {
    const settings = chooseCommand(service, result.commands);
    if (settings === undefined) break;
    lines.push(['contract', 'set', ...settings]);
    result = await runCell(service, operation, lines);
  }
  const quoted = lines.map((argv) => argv.map((word) => (/[\s<>$]/.test(word) ? `'${word}'` : word)));
  return { ...result, settings: quoted.map((argv) => `partnerctl ${argv.join(' ')}`) };
}
