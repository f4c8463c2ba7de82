import type { Ran } from '../../support/run.ts';

/* What no fault may lead to. Each check returns one text per problem. */

export function findDuplicates(things: readonly string[]): string[] {
  const repeated = things.filter((thing, index) => things.indexOf(thing) !== index);
  return [...new Set(repeated)].map((thing) => `twice: ${thing}`);
}

export function findMissing(things: readonly string[], wanted: readonly string[]): string[] {
  return wanted.filter((thing) => !things.includes(thing)).map((thing) => `missing: ${thing}`);
}

/** Finds the jobs and files among what a command adds, which a command that failed for certain must not have created. */
export function findCreated(things: readonly string[], adds: readonly string[]): string[] {
  const created = adds.filter((thing) => /^(job|file) /.test(thing) && things.includes(thing));
  return created.map((thing) => `created, although the command failed: ${thing}`);
}

/** Finds texts that do not occur exactly once. */
export function findShownWrongly(stdout: string, shows: readonly string[]): string[] {
  return shows.flatMap((text) => {
    const count = stdout.split(text).length - 1;
    return count === 1 ? [] : [`${count} times on stdout: ${text}`];
  });
}

/** A failure is explained by exactly one block, a success by none; neither is a bug or shows a stack. */
export function findErrorBlockProblems({ code, stderr }: Ran): string[] {
  const lines = stderr.split('\n');
  const blocks = lines.filter((line) => line.startsWith('error:') || line.startsWith('{"error":')).length;
  const problems = blocks === (code === 0 ? 0 : 1) ? [] : [`${blocks} error blocks on stderr`];
  if (stderr.includes('This is a bug')) problems.push('a bug is reported');
  if (lines.some((line) => /^\s+at .*:\d+:\d+\)?$/.test(line))) problems.push('a stack is shown');
  return problems;
}
