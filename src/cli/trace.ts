import type { TraceEvent } from '../api/attempt.ts';
import { redactHeaders } from '../output/redact.ts';
import { sanitizeLine } from '../output/sanitize.ts';
import type { BaseContext } from './context.ts';

/** Writes a line to stderr, even with --quiet, without wrapping it. */
export function writeLine({ progress, io }: Pick<BaseContext, 'progress' | 'io'>, text: string): Promise<void> {
  return progress.pauseDuring(() => io.stderr.write(`${sanitizeLine(text)}\n`));
}

const MAX_BODY_LENGTH = 20_000;

/** Headers and body, a line each. */
function contentLines(mark: string, headers: Readonly<Record<string, string>>, body: string): string[] {
  const shown = Object.entries(redactHeaders(headers)).map(([name, value]) => `${name}: ${value}`);
  const text = body.length > MAX_BODY_LENGTH ? `${body.slice(0, MAX_BODY_LENGTH)}…` : body;
  return [...shown, ...(text === '' ? [] : text.split('\n'))].map((line) => `${mark} ${line}`);
}

function requestLines(
  { request, url, attempt }: Extract<TraceEvent, { kind: 'request' }>,
  redact: BaseContext['redact'],
): string[] {
  const body = typeof request.body === 'string' ? redact(request.body) : '';
  return [`> ${request.method} ${url} (attempt ${attempt})`, ...contentLines('>', request.headers, body)];
}

function resultLine({ request, url, result, ms }: Extract<TraceEvent, { kind: 'result' }>): string {
  const when = { nothing: ' before it was sent', part: ' before all of it was sent', all: '' };
  const outcome = result.kind === 'response' ? result.status : `failed${when[result.sent]}: ${result.message}`;
  return `* ${request.method} ${url} → ${outcome} in ${Math.round(ms)} ms (${request.requestId})`;
}

/** Creates the function that shows requests: a line each with -v, also headers and bodies with --debug, and waits as progress. */
export function createTrace(context: BaseContext) {
  const { progress, redact } = context;
  const { verbose, debug } = context.flags;
  const write = (lines: readonly string[]): void => {
    for (const line of lines) void writeLine(context, line);
  };
  return (event: TraceEvent): void => {
    if (event.kind === 'wait') {
      const { ms, why } = event;
      progress.countdown(ms, (left) => `waiting ${left} ${why}`);
      if (verbose || debug) write([`* waiting ${(ms / 1000).toFixed(1)} s ${why}`]);
    } else if (event.kind === 'request') {
      if (debug) write(requestLines(event, redact));
    } else if (verbose || debug) {
      const { result } = event;
      write([resultLine(event)]);
      if (debug && result.kind === 'response') write(contentLines('<', result.headers, redact(result.body)));
    }
  };
}
