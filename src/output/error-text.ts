import { inspect } from 'node:util';
import { PartnerctlError } from '../errors.ts';
import { createPaint } from './color.ts';
import { toErrorObject } from './error-object.ts';
import { stringifyJson } from './json.ts';
import { sanitizeLine, sanitizeText } from './sanitize.ts';

interface ErrorTextOptions {
  readonly color: boolean;
  /** Adds the stack and the causes. */
  readonly debug: boolean;
  /** The failed command, such as `chat send`; see `toErrorObject`. */
  readonly commandPath?: string | undefined;
  /** The width of the terminal in columns; by default, lines are not wrapped. */
  readonly columns?: number | undefined;
}

const INDENT = '  ';

/** Cleans text, and indents every line, so that it cannot imitate our own lines at the left margin. */
function indent(text: string): string {
  return sanitizeText(text).replaceAll(/^(?=.)/gm, INDENT);
}

/**
 * Formats an error for people: what failed, why, the HTTP status and request id, and what to do next. Ends with a line
 * feed. Sanitizes untrusted text, but keeps the line breaks of `why`.
 */
export async function formatError(error: unknown, options: ErrorTextOptions): Promise<string> {
  const { color, debug, commandPath, columns } = options;
  const { message, status, code, request_id: requestId, hint, retry_at: retryAt } = toErrorObject(error, commandPath);
  const paint = await createPaint(color);
  const why = error instanceof PartnerctlError ? error.info.why : undefined;
  const service = [status && `HTTP ${status}`, code, requestId && `request id ${requestId}`].filter(Boolean).join(', ');
  // Loaded on demand: what measures the width of text takes a millisecond, and scripts need none.
  const wrapText = columns === undefined ? undefined : (await import('./wrap.ts')).wrapText;
  const wrapped = (text: string): string => wrapText?.(text, columns ?? 0, INDENT) ?? text;
  const labeled = (label: string, style: 'bad' | 'heading', text: string): string =>
    wrapped(`${label} ${indent(text).trimStart()}`).replace(label, paint(label, style));
  const blocks = [
    labeled('error:', 'bad', message),
    why === undefined ? '' : wrapped(indent(why)),
    service === '' ? '' : paint(sanitizeLine(service), 'dim'),
    retryAt === null ? '' : `retry at: ${sanitizeLine(retryAt)}`,
    hint === null ? '' : labeled('hint:', 'heading', hint),
    debug ? paint(indent(inspect(error)), 'dim') : '',
  ];
  return blocks
    .filter((block) => block !== '')
    .map((block) => (block.endsWith('\n') ? block : `${block}\n`))
    .join('');
}

/** Formats an error for scripts, as one line of JSON: `{"error":{…}}`. @param commandPath see `toErrorObject` */
export function formatErrorJson(error: unknown, commandPath?: string): string {
  return `${stringifyJson({ error: toErrorObject(error, commandPath) })}\n`;
}
