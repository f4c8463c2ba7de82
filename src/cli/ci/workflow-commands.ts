import type { Environment } from '../../platform/io.ts';

/** Whether a GitHub Actions runner reads the output. */
export function isGitHubActions(env: Environment): boolean {
  return env.GITHUB_ACTIONS === 'true';
}

// The runner's comparison ignores invisible characters, except for line breaks.
const INVISIBLE = '[^\\S\\r\\n]|[\\0-\\x08\\x0e-\\x1f\\x7f-\\x9f]|\\p{Default_Ignorable_Code_Point}';

const WORKFLOW_COMMAND = new RegExp(`^((?:${INVISIBLE})*):(?=(?:${INVISIBLE})*:)`, 'gmu');
const LEGACY_COMMAND = new RegExp(`#(?=(?:${INVISIBLE})*#(?:${INVISIBLE})*\\[)`, 'gu');

/**
 * Keeps GitHub Actions from running text as a workflow command: escapes `::` at the start of a line (`\x3a:`), and `##[`
 * anywhere (`\x23#[`).
 */
export function escapeWorkflowCommands(text: string): string {
  return text.replace(WORKFLOW_COMMAND, '$1\\x3a').replace(LEGACY_COMMAND, '\\x23');
}
