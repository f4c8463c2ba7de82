import type { Environment } from '../../cli/io.ts';

/** Whether a runner of GitHub Actions reads the output. */
export function isGitHubActions(env: Environment): boolean {
  return env.GITHUB_ACTIONS === 'true';
}

// The runner compares with the rules of a language, which skip invisible characters. A line break is not one of these.
const INVISIBLE = '[^\\S\\r\\n]|[\\0-\\x08\\x0e-\\x1f\\x7f-\\x9f]|\\p{Default_Ignorable_Code_Point}';

const COMMAND = new RegExp(`^((?:${INVISIBLE})*):(?=(?:${INVISIBLE})*:)`, 'gmu');
const OLD_COMMAND = new RegExp(`#(?=(?:${INVISIBLE})*#(?:${INVISIBLE})*\\[)`, 'gu');

/**
 * Keeps the runner of GitHub Actions from taking text for a workflow command: a line that begins with `::`, or has `##[`
 * anywhere. Such a sign is shown escaped: `\x3a:`, `\x23#[`.
 */
export function disarmCommands(text: string): string {
  return text.replace(COMMAND, '$1\\x3a').replace(OLD_COMMAND, '\\x23');
}
