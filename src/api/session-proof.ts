import { randomUUID } from 'node:crypto';
import { describeFix } from '../contract/assumptions.ts';
import type { Contract } from '../contract/contract.ts';
import type { JsonObject } from '../contract/json.ts';
import { createIgnoredSession, IgnoredSession, type SessionEvidence } from '../contract/message-session.ts';
import { InterruptedError, PartnerctlError } from '../errors.ts';
import type { ApiResponse } from './api-response.ts';
import { fetchPage, type PagedList } from './fetch-page.ts';
import type { Http } from './http.ts';
import type { CallOptions } from './http-options.ts';
import { idsOf } from './page-requests.ts';

const LEAF = 'messages.history.session_id';

/** Refusals that say nothing of the session: they may be about any request. */
const OF_ANY_REQUEST = [401, 408, 429];

/** What a request for another session shows; `unknown` if it fails for another reason. */
type Proof = 'heeds' | 'ignores' | 'unknown';

/** How long the request may take. */
const PROOF_TIMEOUT_MS = 5_000;

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
  /** By how the session is requested. */
  private readonly proofs = new Map<string, Promise<Proof>>();
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
    const proof = this.proofs.get(call) ?? this.prove(read);
    this.proofs.set(call, proof);
    const result = await proof;
    if (result === 'ignores') response.read(() => refuse(read, contract));
    if (result === 'heeds' && (source === 'assumed' || source === 'spec')) this.http.observe(LEAF, value);
  }

  private async prove({ first, list, options }: ReadPage): Promise<Proof> {
    const query = { ...options.query, session_id: `partnerctl-check-${randomUUID()}` };
    try {
      const limits = { retries: 0, timeoutMs: PROOF_TIMEOUT_MS };
      const other = await fetchPage(this.http, list, { ...options, ...limits, query });
      const ids = new Set(idsOf(this.http, list, other));
      const own = idsOf(this.http, list, { items: first });
      // A service may greet in each session with the same message.
      return own.filter((id) => ids.has(id)).length <= own.length / 2 ? 'heeds' : 'ignores';
    } catch (error) {
      return proofOfFailure(error);
    }
  }
}

function refuse({ first, evidence }: ReadPage, contract: Contract): never {
  throw createIgnoredSession(first, evidence, contract);
}

/** A session that does not exist may be refused, or answered with something that is no history. @throws InterruptedError */
function proofOfFailure(error: unknown): Proof {
  if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) throw error;
  const { status } = error.info;
  const isAboutSession = status !== undefined && status < 500 && !OF_ANY_REQUEST.includes(status);
  return isAboutSession ? 'heeds' : 'unknown';
}
