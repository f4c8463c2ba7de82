import { isJsonObject } from '../../contract/json.ts';
import { InterruptedError, PartnerctlError } from '../../errors.ts';
import type { BatchItem } from '../../output/command-result.ts';
import { toErrorObject } from '../../output/error-text.ts';
import { sanitizeText } from '../../output/sanitize.ts';
import type { Environment } from '../../platform/io.ts';

/** A failure, which a CI system shows at its place in a file, if it has one. Lines and columns start at 1. */
export interface Finding {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Raw; may have several lines. */
  readonly message: string;
  /** The reason, as the service says it. It may quote what was sent: only the log has it, and no summary. */
  readonly why?: string | undefined;
}

/** A mistake in YAML, as the details of an InputError have it. */
type Mistake = Finding & { readonly source: string; readonly row?: string; readonly hint?: string };

/** Whether a GitHub Actions runner reads the output. */
export function isGitHubActions(env: Environment): boolean {
  return env.GITHUB_ACTIONS === 'true';
}

/**
 * Keeps GitHub Actions from running text as a workflow command: escapes `::` at the start of a line, and `##[` anywhere.
 */
export function escapeWorkflowCommands(text: string): string {
  return text.replace(/^([^\S\r\n]*):(?=:)/gm, '$1\\x3a').replace(/#(?=#\[)/g, '\\x23');
}

/** Says a failure and what to do. */
function messageOf({ message, hint }: { readonly message: string; readonly hint?: string | null | undefined }): string {
  return hint ? `${message}\nhint: ${hint}` : message;
}

/** The findings of an item, each at the line that it is about. */
export function itemFindings(item: BatchItem): readonly Finding[] {
  const { name, failures = [item] } = item;
  return failures.flatMap(({ error, source = '' }) => {
    if (error === undefined || error instanceof InterruptedError) return [];
    // The place of a row may follow: `support.yaml:3 (customers.csv:17)`.
    const [, file, line] = /^(.*?):(\d+)(?: \(.*\))?$/s.exec(source) ?? [];
    const place = file === undefined ? {} : { file, line: Number(line) };
    const why = error instanceof PartnerctlError ? error.info.why : undefined;
    return [{ ...place, message: `${name}: ${messageOf(toErrorObject(error))}`, why }];
  });
}

/** The findings of the error that ended a command, if any: one for each mistake in its input, or one for the error. */
export function failureFindings(error: unknown): readonly Finding[] {
  if (error === undefined || error instanceof InterruptedError) return [];
  const object = toErrorObject(error);
  const { details } = object;
  const mistakes: readonly Mistake[] = isJsonObject(details) && Array.isArray(details.problems) ? details.problems : [];
  if (mistakes.length === 0) return [{ message: messageOf(object) }];
  return mistakes.map((mistake) => {
    const row = mistake.row === undefined ? '' : `${mistake.row}: `;
    return { ...mistake, file: mistake.source, message: `${row}${messageOf(mistake)}` };
  });
}

function escapeData(text: string): string {
  return sanitizeText(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** Formats a finding as an annotation. GitHub shows the first ten of a step. */
export function formatAnnotation({ file, line, column, message, why }: Finding, title: string): string {
  const properties = Object.entries({ file, line, col: column, title })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escapeData(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`);
  return `::error ${properties.join(',')}::${escapeData([message, why].filter(Boolean).join('\n'))}\n`;
}
