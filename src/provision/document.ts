import { backoffMs } from '../api/retry.ts';
import type { JsonObject } from '../contract/json.ts';
import {
  InterruptedError,
  OutcomeUnknownError,
  PartnerctlError,
  RateLimitError,
  ServiceError,
  ShapeError,
  withHint,
} from '../errors.ts';
import { CannotLook, findSpaces, inspectSpace } from './look.ts';
import type { ManifestDocument } from './manifest.ts';
import { withMemory } from './memory.ts';
import { finished } from './outcome.ts';
import { type PresentSpace, type ProvisionPlan, planProvision } from './plan.ts';
import { post } from './post.ts';
import type { DocumentResult } from './result.ts';
import type { Surface } from './surface.ts';

/** A service may still be at work on a request whose answer was lost; looking at once would miss what it does. */
const SETTLE_MS = 1_000;
const LONGEST_PAUSE_MS = 4_000;
/** A look has retries of its own; beyond them it is repeated this often. */
const FAILED_LOOKS = 2;

/** What the rounds of one document know of each other. */
interface SoFar {
  /** The plan before anything was sent. */
  first?: ProvisionPlan;
  /** The agents that were there before anything was sent. */
  before?: ReadonlySet<string | undefined>;
  /** The space, once it was listed. */
  space?: JsonObject | undefined;
  /** The failure of a POST that may have been carried out. */
  open?: PartnerctlError;
  /** That of them after which a look came through. */
  lookedAfter?: PartnerctlError | undefined;
  /** What the last POST failed with that was not carried out. */
  undone?: unknown;
  failedLooks: number;
}

async function remember(surface: Surface, document: ManifestDocument, result: DocumentResult): Promise<DocumentResult> {
  if (result.space_id !== null) await surface.memory.record(document.manifest, result.space_id, result.agents);
  return result;
}

/** Without looking: the spec says that a repeat reuses the space, and the state file knows what was installed before. */
async function provisionBlindly(surface: Surface, document: ManifestDocument): Promise<DocumentResult> {
  const present = surface.memory.recall(document.manifest);
  const plan = planProvision(document.manifest, present);
  if (present && plan.action === 'none') {
    const agents = plan.agents.map((agent) => agent.present);
    return finished(document, plan, present.space_id, agents);
  }
  return remember(surface, document, await post(surface, document, plan, plan, true, idsOf(present)));
}

function idsOf(present: PresentSpace | undefined): ReadonlySet<string | undefined> {
  return new Set(present?.agents.map(({ agent_id }) => agent_id));
}

async function look(
  { http, memory }: Surface,
  { manifest }: ManifestDocument,
  soFar: SoFar,
  listed: ReadonlyMap<string, JsonObject> | undefined,
): Promise<PresentSpace | undefined> {
  const id = manifest.external_space_id;
  soFar.space ??= (listed ?? (await findSpaces(http, new Set([id])))).get(id);
  return soFar.space && withMemory(await inspectSpace(http, soFar.space), memory.recall(manifest));
}

/** Whether an earlier run installed one of the missing agents without learning its id. */
function wasInstalledUnseen(recalled: PresentSpace | undefined, plan: ProvisionPlan): boolean {
  const missing = plan.agents.filter((agent) => !agent.present);
  const unseen = recalled?.agents.filter(({ agent_id }) => agent_id === undefined) ?? [];
  return missing.some(({ wanted }) =>
    unseen.some(({ name, template_id }) => name === wanted.name && template_id === wanted.template_id),
  );
}

/**
 * Agents may be there that cannot be paired with those that were asked for: a service may have renamed them. Where an
 * earlier POST may have brought them, posting again could install them twice, so only a person can go on.
 */
function refuseToGuess(
  soFar: SoFar,
  plan: ProvisionPlan,
  present: PresentSpace | undefined,
  recalled: PresentSpace | undefined,
): void {
  const paired = new Set(plan.agents.flatMap((agent) => agent.present?.agent_id ?? []));
  const strangers = (present?.agents ?? []).filter(({ agent_id }) => agent_id !== undefined && !paired.has(agent_id));
  const unseen = recalled?.space_id === present?.space_id && wasInstalledUnseen(recalled, plan);
  const suspects = unseen ? strangers : strangers.filter(({ agent_id }) => soFar.open && !soFar.before?.has(agent_id));
  if (suspects.length === 0) return;
  throw new Undecidable(
    new OutcomeUnknownError('There are agents that cannot be told apart from those that were asked for before.', {
      why: suspects.map(({ agent_id, name }) => `${agent_id} ${name ?? ''}`.trim()).join('\n'),
      hint: 'Look at the agents of the space. Nothing more is posted for it, so that none is installed twice.',
      details: { agents: suspects },
    }),
  );
}

/** The failure behind an open end to which an answer came, though one that the tool cannot use. */
function unusableAnswer({ info: { cause } }: PartnerctlError): PartnerctlError | undefined {
  if (cause instanceof ShapeError) return cause;
  if (!(cause instanceof ServiceError)) return undefined;
  const { status = 0 } = cause.info;
  return status >= 300 && status < 400 ? cause : undefined;
}

/** A failure that no further round can settle. */
class Undecidable extends Error {
  readonly error: PartnerctlError;

  constructor(error: PartnerctlError) {
    super(error.message);
    this.error = error;
  }
}

/** One look, and one POST of what is missing. */
async function lookAndPost(
  surface: Surface,
  document: ManifestDocument,
  soFar: SoFar,
  listed: ReadonlyMap<string, JsonObject> | undefined,
): Promise<DocumentResult> {
  const present = await look(surface, document, soFar, listed);
  soFar.lookedAfter = soFar.open;
  const plan = planProvision(document.manifest, present);
  soFar.first ??= plan;
  soFar.before ??= idsOf(present);
  if (present && plan.action === 'none') {
    const agents = plan.agents.map((agent) => agent.present);
    return remember(surface, document, finished(document, soFar.first, present.space_id, agents));
  }
  refuseToGuess(soFar, plan, present, surface.memory.recall(document.manifest));
  // It was answered, though not readably, and yet it is not there: another POST would be answered the same way.
  const answered = soFar.open && unusableAnswer(soFar.open);
  if (answered) throw new Undecidable(answered);
  try {
    return await remember(surface, document, await post(surface, document, soFar.first, plan, false, idsOf(present)));
  } catch (error) {
    if (error instanceof OutcomeUnknownError) soFar.open = error;
    else soFar.undone = error;
    throw error;
  }
}

/** Whether another round may settle it: a look tells what a lost answer did, and a failed look may pass. */
function mayPass(error: unknown, soFar: SoFar): boolean {
  if (error === soFar.open || error instanceof RateLimitError) return true;
  if (!(error instanceof ServiceError) || error.info.permanent === true) return false;
  // It had one attempt, where a look had all of its retries.
  if (error === soFar.undone) return true;
  soFar.failedLooks += 1;
  return soFar.failedLooks <= FAILED_LOOKS;
}

/** How long to wait before another round: no less than the service asks for, and than a request in flight may take. */
function pauseBefore(error: unknown, round: number, { clock, random }: Surface): number {
  const retryAt = error instanceof PartnerctlError ? error.info.retryAt : undefined;
  const asked = retryAt === undefined ? 0 : Date.parse(retryAt) - clock.now();
  return Math.max(asked, SETTLE_MS) + Math.min(LONGEST_PAUSE_MS, backoffMs(round, random()));
}

/** The failure of a look after a lost answer: alone it would read as if nothing had been sent. */
function stillOpen(error: unknown): unknown {
  if (!(error instanceof PartnerctlError) || error instanceof InterruptedError) return error;
  const hint =
    'The answer to a request before was lost, and it is open whether the space was provisioned. Run it again: it looks at what is there before it writes.';
  return withHint(error, { hint, details: {} });
}

/** The error to report in the end; a repeat of the run is harmless, because it looks first. */
function finalError(error: unknown, { open, lookedAfter }: SoFar): unknown {
  if (error instanceof Undecidable) return error.error;
  if (!(error instanceof OutcomeUnknownError)) return open === lookedAfter ? error : stillOpen(error);
  const answered = unusableAnswer(error);
  if (answered) return answered;
  return new ServiceError('The service failed, and it is open whether the space was provisioned.', {
    ...error.info,
    hint: 'Run it again: it looks at what is there before it writes.',
  });
}

/** Looks, posts what is missing, and looks again before anything is repeated. */
async function provisionSighted(
  surface: Surface,
  document: ManifestDocument,
  listed: ReadonlyMap<string, JsonObject>,
  soFar: SoFar,
): Promise<DocumentResult> {
  // A round costs one POST at most, and looking first makes it harmless; so there may be more of them than of retries.
  const rounds = 1 + 2 * surface.retries;
  for (let round = 1; ; round += 1) {
    try {
      return await lookAndPost(surface, document, soFar, round === 1 ? listed : undefined);
    } catch (error) {
      if (round >= rounds || !mayPass(error, soFar)) throw finalError(error, soFar);
      const delayMs = pauseBefore(error, round, surface);
      if (delayMs > surface.http.remainingMs()) throw finalError(error, soFar);
      await surface.clock.sleep(delayMs, surface.interrupt);
    }
  }
}

/**
 * Brings one space to what its document says.
 * @throws PartnerctlError when that cannot be done; OutcomeUnknownError when only a person can tell whether it was
 */
export async function provisionDocument(surface: Surface, document: ManifestDocument): Promise<DocumentResult> {
  if (!surface.listed) return provisionBlindly(surface, document);
  const soFar: SoFar = { failedLooks: 0 };
  try {
    return await provisionSighted(surface, document, surface.listed, soFar);
  } catch (error) {
    if (!(error instanceof CannotLook)) throw error;
    if (soFar.open) {
      const facts = {
        ...soFar.open.info,
        why: error.message,
        hint: 'Look at the agents of the space before it is run again.',
      };
      throw new OutcomeUnknownError('An answer was lost, and what it did can no longer be looked at.', facts);
    }
    await surface.onBlind(error);
    return provisionBlindly(surface, document);
  }
}
