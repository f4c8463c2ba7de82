import type { TraceEvent } from '../api/attempt.ts';
import { redactHeaders } from '../output/redact.ts';

export type TraceLevel = 'silent' | 'verbose' | 'debug';

export interface TraceOutput {
  readonly lines: readonly string[];
  /** The detail to show next to the spinner; '' removes the current one. */
  readonly progress?: string;
  /** A wait to count down next to the spinner. */
  readonly wait?: { readonly ms: number; readonly why: string };
}

const MAX_BODY_LENGTH = 20_000;

function headerLines(mark: string, headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(redactHeaders(headers)).map(([name, value]) => `${mark} ${name}: ${value}`);
}

function bodyLines(mark: string, body: string | undefined): string[] {
  if (!body) return [];
  const truncated =
    body.length > MAX_BODY_LENGTH ? `${body.slice(0, MAX_BODY_LENGTH)}… (${body.length} characters)` : body;
  return truncated.split('\n').map((line) => `${mark} ${line}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function outcome(event: Extract<TraceEvent, { kind: 'result' }>): string {
  const { result } = event;
  if (result.kind === 'response') return String(result.status);
  const when = { nothing: ' before it was sent', part: ' before all of it was sent', all: '' }[result.sent];
  return `failed${when}: ${result.message}`;
}

/**
 * Creates a function that formats trace events: a line per request with -v, also headers and bodies with --debug. Pure.
 * @param redact redacts bodies before they are shortened, because shortening could cut a secret in half
 */
export function createTracer(level: TraceLevel, redact: (text: string) => string): (event: TraceEvent) => TraceOutput {
  return (event) => {
    if (event.kind === 'wait') {
      const { ms, why } = event;
      return { lines: level === 'silent' ? [] : [`* waiting ${seconds(ms)} ${why}`], wait: { ms, why } };
    }
    if (event.kind === 'request') {
      // An empty detail removes the one that a wait has set.
      if (level !== 'debug') return { lines: [], progress: '' };
      const { request } = event;
      return {
        progress: '',
        lines: [
          `> ${request.method} ${event.url} (attempt ${event.attempt})`,
          ...headerLines('>', request.headers),
          ...(typeof request.body === 'string' ? bodyLines('>', redact(request.body)) : []),
        ],
      };
    }
    if (level === 'silent') return { lines: [] };
    const { request, result } = event;
    const line = `* ${request.method} ${event.url} → ${outcome(event)} in ${Math.round(event.ms)} ms (${request.requestId})`;
    if (level === 'verbose' || result.kind === 'failure') return { lines: [line] };
    return { lines: [line, ...headerLines('<', result.headers), ...bodyLines('<', redact(result.body))] };
  };
}
