import type { Http } from '../api/http.ts';
import type { Context } from '../cli/context.ts';
import { readText, refuseTokenOnStdin, type TextSource } from '../cli/input.ts';
import type { SessionRef } from '../state-old/session-ref.ts';
import { type FoundSource, findSource } from './find-source.ts';
import type { SessionSelection } from './session-selection.ts';

/** Sessions to follow. With `renew`, all are of one source. */
export interface SelectedSessions extends Pick<FoundSource, 'renew'> {
  readonly sessions: readonly SessionRef[];
}

/** Reads --pairs. @throws InputError with the place of every mistake */
async function readPairs(context: Context, source: TextSource): Promise<readonly SessionRef[]> {
  if (source.from === 'stdin') refuseTokenOnStdin(context.flags, 'list of sessions');
  const text = await readText(source, 'The list of sessions', () => context.io.stdin, context.abortSignal);
  const { parsePairs } = await import('./session-pairs.ts');
  return parsePairs({ name: source.from === 'file' ? source.path : '<stdin>', text });
}

const NEVER_RENEWED = { renew: async () => undefined };

/**
 * Finds the sessions that a command line names. All input is checked before the first request.
 * @throws InputError for a mistake in --pairs; as `findSource` does
 */
export async function findSessions(
  context: Context,
  selection: SessionSelection,
): Promise<SelectedSessions & { readonly http: Http }> {
  if (selection.from === 'source') {
    const http = await context.http();
    const { source_id, renew } = await findSource(context, http, selection.source);
    return { http, renew, sessions: selection.sessions.map((session_id) => ({ source_id, session_id })) };
  }
  const sessions = selection.from === 'pairs' ? await readPairs(context, selection.pairs) : selection.sessions;
  return { http: await context.http(), sessions, ...NEVER_RENEWED };
}
