import { InputError } from '../errors.ts';
import type { Problem } from './problem.ts';

function block({ source, line, column, message, hint, excerpt }: Problem): string {
  return [`${source}:${line}:${column}: ${message}`, excerpt, ...(hint === undefined ? [] : [`  hint: ${hint}`])].join(
    '\n',
  );
}

/** Every problem of the manifests in one error, each with its place and the line itself. */
export function yamlError(problems: readonly Problem[]): InputError {
  const count = problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`;
  return new InputError(`The input has ${count}; nothing was sent.`, {
    why: problems.map(block).join('\n\n'),
    details: { problems },
  });
}
