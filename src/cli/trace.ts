import type { TraceEvent } from '../api/attempt.ts';
import type { Progress } from '../output/progress.ts';
import { redactHeaders } from '../output/redact.ts';
import { writeLine } from '../output/sink.ts';
import type { Clock } from '../platform/clock.ts';
import type { Io } from '../platform/io.ts';
import type { GlobalFlags } from './options.ts';

function contentLines(mark: string, headers: Readonly<Record<string, string>>, body: string): string[] {
  const shown = Object.entries(redactHeaders(headers)).map(([name, value]) => `${name}: ${value}`);
  return [...shown, ...(body === '' ? [] : body.split('\n'))].map((line) => `${mark} ${line}`);
}

function resultLine({ request, url, result, ms }: Extract<TraceEvent, { kind: 'result' }>): string {
  const when = { nothing: ' before it was sent', part: ' before all of it was sent', all: '' };
  const outcome = result.kind === 'response' ? result.status : `failed${when[result.sent]}: ${result.message}`;
  return `* ${request.method} ${url} → ${outcome} in ${Math.round(ms)} ms (${request.requestId})`;
}

/** What --verbose and --debug show of an event. Not redacted. */
function linesOf(event: TraceEvent, debug: boolean): readonly string[] {
  if (event.kind === 'wait') return [`* waiting ${(event.ms / 1000).toFixed(1)} s ${event.why}`];
  if (event.kind === 'request') {
    const { request, url, attempt } = event;
    const body = typeof request.body === 'string' ? request.body : '';
    const head = `> ${request.method} ${url} (attempt ${attempt})`;
    return debug ? [head, ...contentLines('>', request.headers, body)] : [];
  }
  const { result } = event;
  const isShown = debug && result.kind === 'response';
  return [resultLine(event), ...(isShown ? contentLines('<', result.headers, result.body) : [])];
}

/** A pause of this length is told where no progress shows it. */
const LONG_PAUSE_MS = 10_000;

/** What showing requests needs of a command. */
export interface TraceContext {
  readonly flags: Pick<GlobalFlags, 'verbose' | 'debug' | 'quiet'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly progress: Pick<Progress, 'countdown'>;
  readonly io: Pick<Io, 'stderr'>;
  readonly redactor: { redact(text: string): string };
}

/**
 * Creates the function that shows requests as -v and --debug ask for, and waits as progress or, if long, as a note. Events are read here alone,
 * and only redacted text goes on, wherever it is written.
 */
export function createTrace({ flags, clock, progress, io, redactor: { redact } }: TraceContext) {
  const { verbose, debug, quiet } = flags;
  let toldUntil = 0;
  return (event: TraceEvent): void => {
    const now = clock.monotonic();
    if (event.kind === 'wait') {
      const why = redact(event.why);
      const isShown = progress.countdown(event.ms, (left) => `waiting ${left} ${why}`) || verbose || debug || quiet;
      // Calls at the same time wait together.
      if (!isShown && event.ms >= LONG_PAUSE_MS && now >= toldUntil) {
        toldUntil = now + event.ms;
        void writeLine(io.stderr, `note: waiting ${Math.round(event.ms / 1000)} s ${why}`);
      }
    }
    if (!verbose && !debug) return;
    for (const line of linesOf(event, debug).map(redact)) void writeLine(io.stderr, line);
  };
}
