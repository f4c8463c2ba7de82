import { randomUUID } from 'node:crypto';
import { isJsonObject } from '../contract/json.ts';
import { InterruptedError, PartnerctlError, ShapeError } from '../errors.ts';
import { HistoryReader } from './history.ts';
import type { Http } from './http.ts';

/** Refusals that say nothing of the session: they may be about any request. */
const OF_ANY_REQUEST = new Set([401, 403, 408, 429]);

const LIMITS = { retries: 0, timeoutMs: 5_000 };

/** Whether the history of a session depends on the session; unknown if the request fails for another reason. */
export type SessionProbe = 'heeded' | 'ignored' | 'unknown';

/**
 * Asks for the history of a session that does not exist (spec §4.4 leaves the names of the parameters open): a service that
 * ignores which session is requested has messages for it.
 * @throws InterruptedError
 */
export async function probeSession(http: Http, source_id: string): Promise<SessionProbe> {
  const position = { source_id, session_id: `partnerctl-check-${randomUUID()}`, after_message_id: undefined };
  try {
    const pages = new HistoryReader(http).readAfter(position, () => LIMITS);
    const page = await pages.next();
    // A service may greet in each session.
    return (page.value?.messages.length ?? 0) > 1 ? 'ignored' : 'heeded';
  } catch (error) {
    if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
    const { status = 0, details, fromGateway } = error.info;
    const isOfSession = isJsonObject(details) && details.leaf === 'messages.history.session_id';
    // Messages that name another session are those of any session.
    if (error instanceof ShapeError) return isOfSession ? 'ignored' : 'unknown';
    // A session that does not exist may be refused.
    const isAnswer = status >= 400 && status < 500 && !OF_ANY_REQUEST.has(status) && !fromGateway;
    return isAnswer && http.contract.parameter('messages.history.session_id') !== undefined ? 'heeded' : 'unknown';
  }
}
