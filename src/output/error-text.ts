import { inspect } from 'node:util';
import { PartnerctlError, toErrorObject, UsageError } from '../errors.ts';
import { createPaint } from './color.ts';
import { stringifyJson } from './formats/stringify-json.ts';
import { sanitizeLine, sanitizeText } from './sanitize.ts';

interface ErrorTextOptions {
  readonly color: boolean;
  /** Adds the stack and the causes. */
  readonly debug: boolean;
  /** The words of the command that failed, for example `chat send`; wrong words then point to its help. */
  readonly command?: string | undefined;
}

function serviceLine(status: number | null, code: string | null, requestId: string | null): string {
  const answer = [status === null ? '' : `HTTP ${status}`, code ?? ''].filter((part) => part !== '').join(' ');
  const request = requestId === null ? '' : `request id ${requestId}`;
  return [answer, request].filter((part) => part !== '').join(', ');
}

function moment(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return `${date.toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'long' })} (${date.toISOString()})`;
}

function hintFor(error: unknown, hint: string | null, command: string | undefined): string | null {
  if (hint !== null || command === undefined || !(error instanceof UsageError)) return hint;
  return `Run "partnerctl ${command} --help" for its words and flags.`;
}

const INDENT = '  ';

/** File names and what a service says may hold lines that look like ours: those alone stand at the left margin. */
function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, INDENT);
}

/** The same for what begins behind a word of ours. */
function continued(text: string): string {
  return text.replaceAll(/\n(?=[^\n])/g, `\n${INDENT}`);
}

/**
 * An error as one block of lines for people: what failed, why, what the service said, what to do next.
 * `why` keeps its layout, carets and all. No colour codes but its own: text from outside is cleaned.
 */
export async function formatError(error: unknown, { color, debug, command }: ErrorTextOptions): Promise<string> {
  const { message, status, code, request_id: requestId, hint, retry_at: retryAt } = toErrorObject(error);
  const paint = await createPaint(color);
  const why = error instanceof PartnerctlError ? error.info.why : undefined;
  const answered = serviceLine(status, code, requestId);
  const next = hintFor(error, hint, command);
  const blocks = [
    `${paint('error:', 'bad')} ${continued(sanitizeText(message))}`,
    why === undefined ? '' : indented(sanitizeText(why)),
    answered === '' ? '' : paint(sanitizeLine(answered), 'dim'),
    retryAt === null ? '' : `retry at: ${sanitizeLine(moment(retryAt))}`,
    next === null ? '' : `${paint('hint:', 'heading')} ${continued(sanitizeText(next))}`,
    debug ? paint(indented(sanitizeText(inspect(error))), 'dim') : '',
  ];
  return blocks
    .filter((block) => block !== '')
    .map((block) => (block.endsWith('\n') ? block : `${block}\n`))
    .join('');
}

/** An error as one line of JSON for scripts: `{"error":{…}}`. */
export function formatErrorJson(error: unknown): string {
  return `${stringifyJson({ error: toErrorObject(error) })}\n`;
}
