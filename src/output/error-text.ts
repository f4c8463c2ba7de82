import { inspect } from 'node:util';
import { LocalError, PartnerctlError, UsageError } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import { toSentenceCase } from '../platform/text.ts';
import { createPaint } from './color.ts';
import { stringifyJson } from './json.ts';
import { sanitizeLine, sanitizeText } from './sanitize.ts';

/** The message of an error and its reason, on one line. Not sanitized. */
export function describeError(error: unknown): string {
  const message = errorMessage(error);
  const why = error instanceof PartnerctlError ? error.info.why : undefined;
  if (!why) return message;
  const reason = why.replaceAll(/([^.:;!?…\s])\s*\n\s*/g, '$1; ').replaceAll(/\s*\n\s*/g, ' ');
  // A field name at the start (`agents[0].name: …`) keeps the service's spelling.
  return `${message}${/[.:!?…]$/.test(message) ? '' : '.'} ${reason.replace(/^[a-z]+(?= )/, toSentenceCase)}`;
}

const BUG = 'This is a bug. Run the command again with --debug and report what it prints.';

/** The `error` of an item in JSON: null if it did not fail. */
export function errorJson(error: unknown) {
  return error === undefined ? null : toErrorObject(error);
}

/**
 * Converts an error to its JSON form, for stderr and for the results of commands. Its details include `why`.
 * @param error any thrown value; an unexpected error gets the type `internal`
 * @param commandPath the failed command, such as `chat send`. A usage error without its own hint points to its help.
 */
export function toErrorObject(error: unknown, commandPath?: string) {
  const isExpected = error instanceof PartnerctlError;
  const { info } = isExpected ? error : new LocalError('', { hint: BUG });
  const isUsage = commandPath !== undefined && error instanceof UsageError;
  const help = isUsage ? `Run \`partnerctl ${commandPath} --help\` for its arguments and flags.` : null;
  const { details = null, why } = info;
  const isOpen = typeof details === 'object' && !Array.isArray(details);
  return {
    type: isExpected ? error.type : 'internal',
    message: errorMessage(error),
    status: info.status ?? null,
    code: info.code ?? null,
    request_id: info.requestId ?? null,
    hint: info.hint ?? help,
    retry_at: info.retryAt ?? null,
    details: why !== undefined && isOpen ? { ...details, why } : details,
  };
}

interface ErrorTextOptions {
  readonly color: boolean;
  /** Adds the stack and the causes. */
  readonly debug: boolean;
  /** The failed command, such as `chat send`; see `toErrorObject`. */
  readonly commandPath?: string | undefined;
  /** The width to wrap lines at; Infinity by default. */
  readonly width?: number;
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
  const { color, debug, commandPath, width = Number.POSITIVE_INFINITY } = options;
  const { message, status, code, request_id: requestId, hint, retry_at: retryAt } = toErrorObject(error, commandPath);
  const paint = await createPaint(color);
  // Loaded on demand: JSON needs no width, and takes a millisecond less.
  const { wrapText } = await import('./wrap.ts');
  const why = error instanceof PartnerctlError ? (error.info.why ?? '') : '';
  const service = [status && `HTTP ${status}`, code, requestId && `request id ${requestId}`].filter(Boolean).join(', ');
  const labeled = (label: string, style: 'bad' | 'heading', text: string): string =>
    wrapText(`${label} ${indent(text).trimStart()}`, width, INDENT).replace(label, paint(label, style));
  const blocks = [
    labeled('error:', 'bad', message),
    wrapText(indent(why), width, INDENT),
    paint(sanitizeLine(service), 'dim'),
    retryAt === null ? '' : `retry at: ${sanitizeLine(retryAt)}`,
    hint === null ? '' : labeled('hint:', 'heading', hint),
    debug ? paint(indent(inspect(error)), 'dim') : '',
  ];
  const shown = blocks.filter((block) => block !== '').map((block) => block.replace(/\n$/, ''));
  return `${shown.join('\n')}\n`;
}

/** Formats an error for scripts, as one line of JSON: `{"error":{…}}`. @param commandPath see `toErrorObject` */
export function formatErrorJson(error: unknown, commandPath?: string): string {
  return `${stringifyJson({ error: toErrorObject(error, commandPath) })}\n`;
}
