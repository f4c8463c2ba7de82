import type { Finding } from '../../output/command-result.ts';
import { sanitizeText } from '../../output/sanitize.ts';

/** GitHub shows this many annotations of each level for a step. */
const MAX_ANNOTATIONS = 10;

const MAX_MESSAGE = 4_000;

/** Escapes the message of a workflow command. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

function clip(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
}

function annotation({ level, place, message }: Finding, title: string): string {
  const properties = [
    ['file', place?.file],
    ['line', place?.line],
    ['col', place?.column],
    ['title', title],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${escapeProperty(sanitizeText(String(value)))}`]));
  return `::${level} ${properties.join(',')}::${escapeData(clip(sanitizeText(message)))}\n`;
}

/**
 * Formats findings as annotations for GitHub Actions, one per line: at most ten of each level, the last of which counts the
 * rest.
 * @param total the number of findings of each level, including those that are not in `findings`
 */
export function formatAnnotations(
  findings: readonly Finding[],
  total: Readonly<Record<Finding['level'], number>>,
  title: string,
): string {
  const lines = (['error', 'warning'] as const).flatMap((level) => {
    const ofLevel = findings.filter((finding) => finding.level === level);
    if (total[level] <= MAX_ANNOTATIONS) return ofLevel;
    const kept = ofLevel.slice(0, MAX_ANNOTATIONS - 1);
    const rest = total[level] - kept.length;
    const message = `${rest} more ${level === 'error' ? 'failures' : 'warnings'}: see the log of this step.`;
    return [...kept, { level, place: undefined, type: '', message }];
  });
  return lines.map((finding) => annotation(finding, title)).join('');
}
