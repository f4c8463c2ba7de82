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

/** A wait of this length is told where no countdown can be, and so is another that ends so much later. */
const LONG_WAIT_MS = 10_000;

/** What showing requests needs of a command. */
export interface TraceContext {
  readonly flags: Pick<GlobalFlags, 'verbose' | 'debug'>;
  readonly progress: Pick<Progress, 'countdown' | 'isEnabled'>;
  readonly clock: Pick<Clock, 'now'>;
  notice(text: string): Promise<void>;
  readonly io: Pick<Io, 'stderr'>;
  readonly redactor: { redact(text: string): string };
}

/**
 * Creates the function that shows requests as -v and --debug ask for, and waits as progress or, if they are long, as
 * notices: one for all calls that wait for the same. Events are read here alone, and only redacted text goes on, wherever
 * it is written.
 */
export function createTrace(context: TraceContext) {
  const { progress, clock, notice, io } = context;
  const { verbose, debug } = context.flags;
  const { redact } = context.redactor;
  let toldUntil = Number.NEGATIVE_INFINITY;

  const tellWait = ({ ms, why }: Extract<TraceEvent, { kind: 'wait' }>): void => {
    const cause = redact(why);
    progress.countdown(ms, (left) => `waiting ${left} ${cause}`);
    const end = clock.now() + ms;
    if (progress.isEnabled || verbose || debug || ms < LONG_WAIT_MS || end < toldUntil + LONG_WAIT_MS) return;
    toldUntil = end;
    void notice(`note: waiting ${Math.round(ms / 1000)} s ${cause}`);
  };

  return (event: TraceEvent): void => {
    if (event.kind === 'wait') tellWait(event);
    if (!verbose && !debug) return;
    for (const line of linesOf(event, debug).map(redact)) void writeLine(io.stderr, line);
  };
}
