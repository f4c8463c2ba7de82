import type { Meaning } from './fault.ts';
import type { World } from './world.ts';

/** A command line of the matrix: one row of the table. */
export interface MatrixCommand {
  readonly name: string;
  readonly argv: (world: World) => readonly string[];
  readonly stdin?: string;
  /** Files in the working directory, by name; `{home}/name` in the arguments. */
  readonly files?: Readonly<Record<string, string>>;
  /** Ctrl-C once stdout has this many lines. */
  readonly interruptAfterLines?: number;
  /** Whether it has several items, of which some can fail (exit code 10). */
  readonly hasItems?: true;
  /** Exit codes that the command allows for a meaning, beyond those of the request. */
  readonly alsoAllowed?: Partial<Record<Meaning, readonly number[]>>;
  /** What it adds to the things at the service, each once. */
  readonly adds: readonly string[];
  /** The exit codes of a repeat without faults, after a run that ended with 0, 9, or 10, and with anything else. */
  readonly repeat: {
    readonly afterDone: readonly number[];
    readonly afterUnknown: readonly number[];
    readonly afterFailure: readonly number[];
  };
}

const READ_REPEAT = { afterDone: [0], afterUnknown: [0], afterFailure: [0] };

const JOB = (name: string): readonly string[] => [
  ...['--name', name, '--instructions', 'Sum up the day.', '--schedule', '0 9 * * 1-5', '--timezone', 'Europe/Berlin'],
];

export const COMMANDS: readonly MatrixCommand[] = [
  { name: 'spaces list', argv: () => ['spaces', 'list', '-o', 'json'], adds: [], repeat: READ_REPEAT },
  {
    name: 'upload',
    argv: ({ home }) => ['upload', `${home}/a.txt`],
    files: { 'a.txt': 'Opening hours: 9 to 5.' },
    adds: ['file a.txt'],
    repeat: { afterDone: [0], afterUnknown: [9], afterFailure: [0] },
  },
  {
    name: 'cron create',
    argv: ({ agent }) => ['cron', 'create', '--agent', agent, ...JOB('daily')],
    adds: ['job daily'],
    repeat: { afterDone: [5], afterUnknown: [9], afterFailure: [0] },
  },
];
