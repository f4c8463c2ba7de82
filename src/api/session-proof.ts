import { randomUUID } from 'node:crypto';
import { describeFix } from '../contract/assumptions.ts';
import type { Contract } from '../contract/contract.ts';
import type { JsonObject } from '../contract/json.ts';
import { createIgnoredSession, IgnoredSession, type SessionEvidence } from '../contract/message-session.ts';
import { PartnerctlError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import { fetchPage, type PagedList } from './fetch-page.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';
import { idsOf } from './page-requests.ts';

const LEAF = 'messages.history.session_id';

/** Refusals that say nothing of the session: they may be about any request. */
const OF_ANY_REQUEST = [401, 408, 429];

/** A page of a history. */
interface ReadPage {
  readonly response: ApiResponse;
  /** The entries of the first page of the history that has some. */
  readonly first: readonly JsonObject[];
  readonly list: PagedList;
  /** How it was requested. */
  readonly options: CallOptions;
  /** What the entries of the page tell of their session. */
  readonly evidence: SessionEvidence;
}

/**
 * Proves that a service heeds the session of a history request, where its messages do not tell: it must not have the same
 * messages for a session that does not exist. That takes one request, once per service.
 */
export class SessionProof {
  private readonly http: Http;
  /** Whether the service heeds the session, by how it is requested. */
  private readonly heeds = new Map<string, Promise<boolean>>();
  private readonly isStrict: boolean;
  private isAccepted = false;

  constructor(http: Http, isStrict: boolean) {
    this.http = http;
    this.isStrict = isStrict;
  }

  /**
   * Whether to go on after an error, with a warning: the service has the same messages for any session, and they do not name
   * theirs, so that it may have only this one.
   */
  accepts(error: unknown): boolean {
    const cause = error instanceof PartnerctlError ? error.cause : undefined;
    if (this.isStrict || !(cause instanceof IgnoredSession) || cause.evidence !== 'unnamed') return false;
    this.isAccepted = true;
    this.http.warn(`${cause.message} ${describeFix(cause.fix)}`);
    return true;
  }

  /** @throws ShapeError if the service has the messages of the page for any session */
  async require(read: ReadPage): Promise<void> {
    const { response, options, evidence } = read;
    if (evidence === 'named' || (evidence === 'unnamed' && this.isAccepted)) return;
    const contract = options.contract ?? this.http.contract;
    const { value, source } = contract.leaf(LEAF);
    const known = this.http.contract.leaf(LEAF);
    if (known.source === 'observed' && known.value === value) return;
    // What the user or the document of the service says is believed until the messages themselves raise a doubt.
    if (evidence !== 'several' && (source === 'override' || source === 'imported')) return;
    const call = `${contract.leaf('messages.history').value} ${value}`;
    const proof = this.heeds.get(call) ?? this.prove(read);
    this.heeds.set(call, proof);
    const isHeeded = await proof.catch((error: unknown) => {
      this.heeds.delete(call);
      throw error;
    });
    if (!isHeeded) response.read(() => refuse(read, contract));
    if (source === 'assumed' || source === 'spec') this.http.observe(LEAF, value);
  }

  private async prove({ first, list, options }: ReadPage): Promise<boolean> {
    const query = { ...options.query, session_id: `partnerctl-check-${randomUUID()}` };
    const other = await fetchPage(this.http, list, { ...options, query }).catch(rethrowUnlessAboutSession);
    const ids = new Set(other && idsOf(this.http, list, other));
    const own = idsOf(this.http, list, { items: first });
    // A service may greet in each session with the same message.
    return own.filter((id) => ids.has(id)).length <= own.length / 2;
  }
}

function refuse({ first, evidence }: ReadPage, contract: Contract): never {
  throw createIgnoredSession(first, evidence, contract);
}

/** A session that does not exist may be refused, or answered with something that is no history. */
function rethrowUnlessAboutSession(error: unknown): undefined {
  const status = error instanceof PartnerctlError ? error.info.status : undefined;
  if (status === undefined || status >= 500 || OF_ANY_REQUEST.includes(status)) throw error;
  return undefined;
}
