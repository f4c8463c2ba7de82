import { isJsonObject } from '../../contract/json.ts';
import { InterruptedError, PartnerctlError } from '../../errors.ts';
import type { Finding, Place, ReportLine, SummarySection } from '../../output/command-result.ts';
import { toErrorObject } from '../../output/error-object.ts';

/** Parses a place such as `acme.yaml:3`. @returns undefined for standard input */
function placeOf(source: string | undefined): Place | undefined {
  const [, file, line] = /^(.*):(\d+)$/s.exec(source ?? '') ?? [];
  return file === undefined || file === '<stdin>' ? undefined : { file, line: Number(line) };
}

/** Formats an error for a CI system. @param isPrivate leaves out the reason, which may quote data sent to the service */
export function findingText(error: unknown, isPrivate = false): string {
  const { message, hint } = toErrorObject(error);
  const why = error instanceof PartnerctlError && !isPrivate ? error.info.why : undefined;
  return [message, why, hint === null ? undefined : `hint: ${hint}`].filter((part) => part !== undefined).join('\n');
}

/** Returns the finding for an item that failed; none for an item that Ctrl-C stopped. @param source such as `acme.yaml:3` */
export function failedItem(error: unknown, source: string | undefined, isPrivate = false): Finding[] {
  if (error === undefined || error instanceof InterruptedError) return [];
  const place = placeOf(source);
  const text = findingText(error, isPrivate);
  const message = place || source === undefined ? text : `${source}: ${text}`;
  return [{ level: 'error', place, type: toErrorObject(error).type, message }];
}

/** Returns the status to show in a summary: `interrupted`, not `failed`, for an item that Ctrl-C stopped. */
export function endedAs(status: string, error: unknown): string {
  return error instanceof InterruptedError ? 'interrupted' : status;
}

function toPosition(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** One entry of `details.problems`, which an InputError has. */
function problemFinding(problem: unknown, type: string): Finding[] {
  if (!isJsonObject(problem) || typeof problem.source !== 'string' || typeof problem.message !== 'string') return [];
  const { source, hint } = problem;
  const message = typeof hint === 'string' ? `${problem.message}\nhint: ${hint}` : problem.message;
  const [line, column] = [toPosition(problem.line), toPosition(problem.column)];
  if (source === '<stdin>') {
    return [{ level: 'error', place: undefined, type, message: `${source}:${line ?? 1}: ${message}` }];
  }
  const place = { file: source, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  return [{ level: 'error', place, type, message }];
}

/** Returns the findings for the error that ended a command: one for each mistake in its input, or one for the error. */
export function failureFindings(error: unknown): Finding[] {
  if (error instanceof InterruptedError) return [];
  const { details, type } = toErrorObject(error);
  const problems = isJsonObject(details) && Array.isArray(details.problems) ? details.problems : [];
  const found = problems.flatMap((problem) => problemFinding(problem, type));
  return found.length > 0 ? found : [{ level: 'error', place: undefined, type, message: findingText(error) }];
}

/** Formats a failure for a summary. */
export function failureLines({ message }: Finding): ReportLine[] {
  const [first = '', ...rest] = message.split('\n');
  return [{ indent: 4, marker: 'x', text: first }, ...rest.map((text): ReportLine => ({ indent: 6, text }))];
}

/** Returns the summary section of an item. Its lines are those of its failures. */
export function itemSection(name: string, detail: string, failures: readonly Finding[]): SummarySection {
  return { name, detail, isFailure: failures.length > 0, lines: failures.flatMap(failureLines) };
}
