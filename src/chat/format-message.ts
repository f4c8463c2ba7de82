import ms from 'ms';
import type { Context } from '../cli/context.ts';
import { ASSUMPTIONS } from '../contract/assumptions.ts';
import type { Message } from '../contract/messages.ts';
import type { PartnerctlError } from '../errors.ts';
import type { StreamEvent, Style, TonedText } from '../output/command-result.ts';
import { stringifyJson } from '../output/formats/stringify-json.ts';
import type { MarkdownStyle } from '../output/markdown.ts';
import { sanitizeLine, sanitizeText } from '../output/sanitize.ts';
import type { SessionRef } from '../state-old/session-ref.ts';
import type { FollowEvent, FollowNotice } from './follow-types.ts';

/** A message as JSON output shows it. */
export function toMessageJson({ source_id, session_id }: SessionRef, message: Message) {
  const { message_id, role, text, created_at, raw } = message;
  return { message_id, session_id, source_id, role, text, created_at, raw };
}

/** The lines of a message are indented, so that none looks like another message. */
const INDENT = '  ';

function readableText({ text, raw }: Message): string {
  return sanitizeText(text ?? stringifyJson(raw));
}

/** Joins the sanitized texts of messages, each ending with a newline. A message without text becomes its JSON. */
export function joinTexts(messages: readonly Message[]): string {
  return messages
    .map(readableText)
    .map((text) => (text.endsWith('\n') ? text : `${text}\n`))
    .join('');
}

interface LineOptions {
  /** Names the session among several; sanitized. */
  readonly label: string | undefined;
  readonly showTimestamp: boolean;
  /** Marks what matches; global. */
  readonly highlight?: RegExp | undefined;
}

/** How much of a text is searched, because an expression may take long for a long text. In UTF-16 units. */
const MAX_SEARCHED_LENGTH = 10_000;

/** Whether an expression matches the beginning of a message. */
export function matchesMessage({ text }: Message, expression: RegExp): boolean {
  return expression.test((text ?? '').slice(0, MAX_SEARCHED_LENGTH));
}

/** Splits a text into parts, so that each match of an expression is a part with a tone. */
function markMatches(text: string, expression: RegExp): { readonly text: string; readonly tone?: Style }[] {
  const parts: { readonly text: string; readonly tone?: Style }[] = [];
  let end = 0;
  for (const { 0: match, index } of text.slice(0, MAX_SEARCHED_LENGTH).matchAll(expression)) {
    if (match === '') continue;
    parts.push({ text: text.slice(end, index) }, { text: match, tone: 'warn' });
    end = index + match.length;
  }
  return [...parts, { text: text.slice(end) }];
}

/** Indents continuation lines, so that none looks like another message. */
function formatLines(message: Message, { label: name, showTimestamp, highlight }: LineOptions): TonedText {
  const timestamp = showTimestamp ? `${sanitizeLine(message.created_at ?? '-')} ` : '';
  const label = name === undefined ? '' : `[${name}] `;
  const text = readableText(message).replace(/\n+$/, '');
  const parts = highlight ? markMatches(text, highlight) : [{ text }];
  const tone = message.isReply ? 'good' : message.role === 'user' ? 'dim' : undefined;
  return [
    { text: `${timestamp}${label}`, tone: 'dim' },
    { text: sanitizeLine(message.role), tone },
    { text: ': ' },
    ...parts.map((part) => ({ ...part, text: part.text.replaceAll('\n', '\n  ') })),
    { text: '\n' },
  ];
}

/** A message as `chat tail` writes it. */
export function toStreamEvent(session: SessionRef, message: Message, options: LineOptions): StreamEvent {
  const { created_at, message_id, role, text, raw } = message;
  return {
    json: toMessageJson(session, message),
    cells: [created_at, session.session_id, message_id, role, text ?? stringifyJson(raw)],
    text: formatLines(message, options),
  };
}

async function createStyle(hasColor: boolean): Promise<MarkdownStyle> {
  if (!hasColor) return { ...(await import('../output/markdown.ts')).UNSTYLED, keepsBreaks: true };
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  const { bold, italic, cyan: code, dim } = chalk;
  return { bold, italic, code, dim, heading: bold.underline, keepsBreaks: true };
}

/**
 * Creates the function that formats messages for `chat open`: the author, and the text with its Markdown rendered.
 * @param terminal its width is where text wraps
 */
export async function createMessageFormatter(
  hasColor: boolean,
  terminal: { readonly columns: number },
): Promise<(message: Message) => Promise<string>> {
  const { renderMarkdown } = await import('../output/markdown.ts');
  const style = await createStyle(hasColor);
  return async ({ role, text }) => {
    const author = sanitizeLine(role);
    const body = await renderMarkdown(text ?? '', style, terminal.columns - INDENT.length);
    return `${style.bold(author)}\n${body.replace(/^/gm, INDENT)}\n`;
  };
}

function withoutPeriod(text: string): string {
  return text.replace(/\.$/, '');
}

function formatReason({ info }: PartnerctlError): string {
  return info.why === undefined ? '' : ` (${withoutPeriod(info.why.split('\n')[0] ?? '')})`;
}

/** An error as one sentence. */
function formatCause(error: PartnerctlError): string {
  return `${withoutPeriod(error.message)}${formatReason(error)}.`;
}

const NOTICES: readonly string[] = ['outage-started', 'outage-ended', 'unknown-session', 'gap', 'skipped'];

/** Whether an event is a notice for the user. */
export function isNotice(event: FollowEvent): event is FollowNotice {
  return NOTICES.includes(event.kind);
}

/** A notice as text for stderr or above a prompt; not sanitized. */
export function formatNotice(notice: FollowNotice): string {
  switch (notice.kind) {
    case 'outage-started':
      return `connection lost: ${formatCause(notice.error)} Retrying.`;
    case 'outage-ended': {
      const missed = notice.missed === 1 ? '1 message' : `${notice.missed} messages`;
      return `connection restored after ${ms(notice.outageMs)}; ${missed} arrived meanwhile.`;
    }
    case 'unknown-session':
      return `the service does not know session ${notice.session_id} yet${formatReason(notice.error)}; treating it as empty. If that is wrong, check the base URL, --source, and --session.`;
    case 'skipped':
      return `session ${notice.session_id} of source ${notice.source_id} cannot be read: ${formatCause(notice.error)}`;
    case 'gap':
      return `the history of ${notice.session_id} may be incomplete: ${notice.evidence}. Assumed (history.messages): ${ASSUMPTIONS['history.messages']}.`;
  }
}

/** Writes a notice to stderr. --quiet hides only the note about an unknown session. */
export async function writeFollowNotice(
  context: Pick<Context, 'warn' | 'notice'>,
  notice: FollowNotice,
): Promise<void> {
  const text = formatNotice(notice);
  if (notice.kind === 'unknown-session') await context.notice(`note: ${text}`);
  else await context.warn(text);
}
