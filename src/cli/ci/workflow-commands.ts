import type { Finding } from '../../output/command-result.ts';
import { sanitizeText } from '../../output/sanitize.ts';
import type { Environment } from '../../platform/io.ts';

/** Whether a GitHub Actions runner reads the output. */
export function isGitHubActions(env: Environment): boolean {
  return env.GITHUB_ACTIONS === 'true';
}

/**
 * Keeps GitHub Actions from running text as a workflow command: escapes `::` at the start of a line (`\x3a:`), and `##[`
 * anywhere (`\x23#[`).
 */
export function escapeWorkflowCommands(text: string): string {
  return text.replace(/^([^\S\r\n]*):(?=:)/gm, '$1\\x3a').replace(/#(?=#\[)/g, '\\x23');
}

/** GitHub shows this many annotations of each level for a step. */
const MAX_ANNOTATIONS = 10;

const MAX_MESSAGE = 4_000;

/** Escapes the message of a workflow command. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function annotation({ level, place, message }: Finding, title: string): string {
  const properties = Object.entries({ file: place?.file, line: place?.line, col: place?.column, title }).flatMap(
    ([name, value]) => {
      const text = escapeData(sanitizeText(String(value)))
        .replaceAll(':', '%3A')
        .replaceAll(',', '%2C');
      return value === undefined ? [] : [`${name}=${text}`];
    },
  );
  return `::${level} ${properties.join(',')}::${escapeData(sanitizeText(message).slice(0, MAX_MESSAGE))}\n`;
}

/** Formats findings as annotations, one per line: at most ten of each level, the last of which counts the rest. */
export function formatAnnotations(findings: readonly Finding[], title: string): string {
  const lines = (['error', 'warning'] as const).flatMap((level) => {
    const all = findings.filter((finding) => finding.level === level);
    if (all.length <= MAX_ANNOTATIONS) return all;
    const kept = all.slice(0, MAX_ANNOTATIONS - 1);
    const message = `${all.length - kept.length} more ${level}s: see the log of this step.`;
    return [...kept, { level, place: undefined, message }];
  });
  return lines.map((finding) => annotation(finding, title)).join('');
}
