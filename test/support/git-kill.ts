import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { start } from './program.ts';
import { tempDirectory } from './run.ts';

/*
 * Kills the git commands of one of our commands at one system call after another: a program called `git` comes first in the PATH,
 * counts the commands, and starts one of them under strace.
 */

/** Calls that change files or send something to another process. */
const CALLS = ['write', 'link', 'rename', 'unlink', 'mkdir', 'rmdir', 'fsync'];

/** A system call of a git command. */
export interface GitPoint {
  /** The number of the git command in the run, from 1. */
  readonly command: number;
  readonly call: string;
  /** Counts the calls with this name in a process. */
  readonly nth: number;
}

interface Run {
  readonly args: readonly string[];
  readonly env: Record<string, string>;
}

/** Starts a command for which `git` is a script of sh. `$n` is the number of the git command. */
async function runWithGit({ args, env }: Run, script: (git: string) => string) {
  const directory = tempDirectory();
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const count = `echo >> '${directory}/count'\nn=$(($(wc -l < '${directory}/count')))`;
  mkdirSync(join(directory, 'bin'));
  writeFileSync(join(directory, 'bin', 'git'), `#!/bin/sh\n${count}\n${script(git)}\n`, { mode: 0o755 });
  const PATH = `${join(directory, 'bin')}:${process.env.PATH}`;
  return await start(args, { env: { ...env, PATH } });
}

/** The calls of a git command. @param log the output of strace: `<pid> <call>(…` for each */
function pointsIn(command: number, log: string): GitPoint[] {
  const counts = new Map<string, number>();
  const points = new Map<string, GitPoint>();
  for (const [, pid, call = ''] of log.matchAll(/^(\d+) +(\w+)\(/gm)) {
    const nth = (counts.get(`${pid} ${call}`) ?? 0) + 1;
    counts.set(`${pid} ${call}`, nth);
    points.set(`${call} ${nth}`, { command, call, nth });
  }
  return [...points.values()];
}

/** Runs a command to its end. @returns the points of its git commands, in order */
export async function findGitPoints(run: Run): Promise<GitPoint[]> {
  const logs = tempDirectory();
  await runWithGit(run, (git) => `exec strace -f -qq -o '${logs}/'$n -e trace=${CALLS.join()} '${git}' "$@"`);
  return readdirSync(logs)
    .map(Number)
    .toSorted((one, other) => one - other)
    .flatMap((command) => pointsIn(command, readFileSync(join(logs, String(command)), 'utf8')));
}

/** Runs a command, and kills one of its git commands and immediately the process that started it, as if the machine failed. */
export async function killGitAt(run: Run, { command, call, nth }: GitPoint) {
  const inject = `-qq -o /dev/null -e trace=${call} -e inject=${call}:signal=KILL:when=${nth}`;
  return await runWithGit(run, (git) =>
    [
      `[ $n = ${command} ] || exec '${git}' "$@"`,
      `strace ${inject} '${git}' "$@"`,
      'code=$?',
      '[ $code != 137 ] || kill -9 $PPID',
      'exit $code',
    ].join('\n'),
  );
}

/** The command lines of the processes that use a directory. */
export function processesUsing(directory: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(directory));
}
