import { isJsonObject } from '../../contract/json.ts';
import { InterruptedError, PartnerctlError } from '../../errors.ts';
import type { Finding, Place, ReportLine, SummarySection } from '../../output/command-result.ts';
import { toErrorObject } from '../../output/error-object.ts';

/** Formats an error for a CI system. @param isPrivate leaves out the reason, which may quote data sent to the service */
export function findingText(error: unknown, isPrivate = false): string {
  const { message, hint } = toErrorObject(error);
  const why = error instanceof PartnerctlError && !isPrivate ? error.info.why : undefined;
  return [message, why, hint === null ? undefined : `hint: ${hint}`].filter((part) => part !== undefined).join('\n');
}

/** A finding about a place, which only files can show. */
function findingAt(place: Place | undefined, message: string): Finding {
  if (place?.file !== '<stdin>') return { level: 'error', place, message };
  return { level: 'error', place: undefined, message: `<stdin>:${place.line ?? 1}: ${message}` };
}

/** Returns the finding for an item that failed; none for an item that Ctrl-C stopped. @param source such as `acme.yaml:3` */
export function failedItem(error: unknown, source: string | undefined, isPrivate = false): Finding[] {
  if (error === undefined || error instanceof InterruptedError) return [];
  const [, file, line] = /^(.*):(\d+)$/s.exec(source ?? '') ?? [];
  return [findingAt(file === undefined ? undefined : { file, line: Number(line) }, findingText(error, isPrivate))];
}

/** Returns the status to show in a summary: `interrupted`, not `failed`, for an item that Ctrl-C stopped. */
export function endedAs(status: string, error: unknown): string {
  return error instanceof InterruptedError ? 'interrupted' : status;
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
export function failureFindings(error: unknown): Finding[] {
  if (error instanceof InterruptedError) return [];
  const { details } = toErrorObject(error);
  const problems = isJsonObject(details) && Array.isArray(details.problems) ? details.problems : [];
  const found = problems.flatMap(problemFinding);
  return found.length > 0 ? found : [findingAt(undefined, findingText(error))];
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
