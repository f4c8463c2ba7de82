import { randomUUID } from 'node:crypto';
import { isJsonObject } from '../contract/json.ts';
import { type Message, type SessionRef, unnamedSession } from '../contract/messages.ts';
import {
  EmptyResponseError,
  ErrorInSuccessBody,
  NotFoundError,
  PartnerctlError,
  RefusedError,
  ShapeError,
} from '../errors.ts';
import { shellQuote } from '../platform/text.ts';
import { type PageLimits, readMessagePages } from './history.ts';
import type { Http } from './http.ts';

const SESSION = 'messages.history.session_id';
const FOREIGN: readonly unknown[] = [SESSION, 'messages.history.source_id'];

/** Whether an error says that the history of a session has messages of others. Reading it again does not change that. */
export function isForeign({ info: { details } }: PartnerctlError): boolean {
  return isJsonObject(details) && FOREIGN.includes(details.leaf);
}

/**
 * Asks for the history of a session that does not exist: spec §4.4 leaves open how the session is named, and a service that
 * does not know the name has messages for any. One message may be a greeting, unless it is one of a session that exists.
 * @param known ids of the messages of such a session, which this token can read
 * @throws PartnerctlError for a failure that is no answer: of the network, of a gateway, a 5xx
 */
async function mindsSession(
  http: Http,
  source_id: string,
  known: ReadonlySet<string>,
  limits: () => PageLimits,
): Promise<boolean> {
  const position = { source_id, session_id: `partnerctl-check-${randomUUID()}`, after_message_id: undefined };
  const ids = new Set<string>();
  try {
    for await (const { items } of readMessagePages(http, position, limits)) {
      for (const { message_id } of items) ids.add(message_id);
      if (ids.size > 1 || [...ids].some((id) => known.has(id))) return false;
    }
    return true;
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    if (isForeign(error)) return false;
    if (isRefusal(error, known.size > 0) && http.contract.parameter(SESSION) !== undefined) return true;
    throw error;
  }
}

/** Whether the service itself refuses a session that does not exist. @param mayRead whether a 403 is about the session */
function isRefusal(error: PartnerctlError, mayRead: boolean): boolean {
  const { status, fromGateway, code, why } = error.info;
  if (fromGateway) return false;
  if (error instanceof ErrorInSuccessBody) return /session|conversation|thread/i.test(`${code} ${why}`);
  const isEmpty = error instanceof EmptyResponseError && status === 204;
  return error instanceof NotFoundError || error instanceof RefusedError || isEmpty || (status === 403 && mayRead);
}

/** The sources of a command, each of which is asked once whether it minds the session. */
export class SessionCheck {
  private readonly http: Http;
  private readonly answers = new Map<string, Promise<boolean>>();

  constructor(http: Http) {
    this.http = http;
  }

  /** Checks messages before they are shown. @throws ShapeError if the source ignores the session; PartnerctlError */
  async check({ source_id }: SessionRef, messages: readonly Message[], limits: () => PageLimits): Promise<void> {
    const unnamed = messages.find(({ session_id }) => session_id === null);
    if (unnamed === undefined) return;
    const known = new Set(messages.map(({ message_id }) => message_id));
    const answer = this.answers.get(source_id) ?? mindsSession(this.http, source_id, known, limits);
    this.answers.set(source_id, answer);
    try {
      if (await answer) return;
    } catch (error) {
      if (this.answers.get(source_id) === answer) this.answers.delete(source_id);
      throw error;
    }
    throw this.refuse(unnamed);
  }

  private refuse({ raw }: Message): ShapeError {
    const { baseUrl, contract } = this.http;
    const { seen, fix } = unnamedSession(raw, contract);
    const field = shellQuote(fix?.value ?? '<path>');
    return new ShapeError('The service ignores which session is requested, so these may be messages of others.', {
      why: `A session that does not exist has messages, too, and a message that names no session: it is ${seen}.`,
      hint: `Say how the service takes the session: partnerctl contract import ${shellQuote(baseUrl)}
Or: partnerctl contract set ${SESSION} 'query:<name>'
If a message names its session: partnerctl contract set message.session_id ${field}`,
      details: { operation: 'readHistory', leaf: SESSION, seen },
    });
  }
}
