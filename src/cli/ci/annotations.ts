import { isJsonObject } from '../../contract/json.ts';
import { InterruptedError, PartnerctlError } from '../../errors.ts';
import type { CiItem } from '../../output/command-result.ts';
import { toErrorObject } from '../../output/error-object.ts';
import { sanitizeText } from '../../output/sanitize.ts';
import type { Environment } from '../../platform/io.ts';

/** A failure, which a CI system shows at its place in a file, if it has one. */
export interface Finding {
  /** Lines and columns start at 1. */
  readonly place: { readonly file: string; readonly line: number; readonly column?: number } | undefined;
  /** Raw; may have several lines. */
  readonly message: string;
}

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

/** Formats an error for a CI system. @param isPrivate leaves out the reason, which may quote data sent to the service */
export function findingText(error: unknown, isPrivate = false): string {
  const { message, hint } = toErrorObject(error);
  const why = error instanceof PartnerctlError && !isPrivate ? error.info.why : undefined;
  return [message, why, hint === null ? undefined : `hint: ${hint}`].filter((part) => part !== undefined).join('\n');
}

/** A finding about a place, which only files can show. */
function findingAt(place: Finding['place'], message: string): Finding {
  if (place?.file !== '<stdin>') return { place, message };
  return { place: undefined, message: `<stdin>:${place.line}: ${message}` };
}

/** Returns the findings of an item, which do not name it. */
export function itemFindings({ source = '', failures }: CiItem): readonly Finding[] {
  const [, file, line] = /^(.*):(\d+)$/s.exec(source) ?? [];
  const place = file === undefined ? undefined : { file, line: Number(line) };
  return failures
    .filter(({ error }) => error !== undefined && !(error instanceof InterruptedError))
    .map(({ error, isPrivate }) => findingAt(place, findingText(error, isPrivate)));
}

/** One entry of `details.problems` of an InputError. */
function problemFinding(problem: unknown): Finding[] {
  if (!isJsonObject(problem)) return [];
  const { source: file, line, column, message, hint } = problem;
  const isPlaced = typeof file === 'string' && typeof line === 'number' && typeof column === 'number';
  if (!isPlaced || typeof message !== 'string') return [];
  return [findingAt({ file, line, column }, typeof hint === 'string' ? `${message}\nhint: ${hint}` : message)];
}

/** Returns the findings for the error that ended a command: one for each mistake in its input, or one for the error. */
export function failureFindings(error: unknown): readonly Finding[] {
  if (error instanceof InterruptedError) return [];
  const { details } = toErrorObject(error);
  const problems = isJsonObject(details) && Array.isArray(details.problems) ? details.problems : [];
  const found = problems.flatMap(problemFinding);
  return found.length > 0 ? found : [findingAt(undefined, findingText(error))];
}

/** GitHub shows this many annotations for a step. */
const MAX_ANNOTATIONS = 10;

const MAX_MESSAGE = 4_000;

/** Escapes the message of a workflow command. */
function escapeData(text: string): string {
  return sanitizeText(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function annotation({ place, message }: Finding, title: string): string {
  const properties = Object.entries({ file: place?.file, line: place?.line, col: place?.column, title })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escapeData(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`);
  return `::error ${properties.join(',')}::${escapeData(message.slice(0, MAX_MESSAGE))}\n`;
}

/** Formats findings as annotations, one per line: at most ten, the last of which counts the rest. */
export function formatAnnotations(findings: readonly Finding[], title: string): string {
  const kept = findings.length > MAX_ANNOTATIONS ? findings.slice(0, MAX_ANNOTATIONS - 1) : findings;
  const more = findings.length - kept.length;
  const rest = { place: undefined, message: `${more} more errors: see the log of this step.` };
  return [...kept, ...(more > 0 ? [rest] : [])].map((finding) => annotation(finding, title)).join('');
}
