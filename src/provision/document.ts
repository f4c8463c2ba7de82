import type { Http } from '../api/http.ts';
import { provisionSpace } from '../api/provisioning.ts';
import { backoffMs } from '../api/retry.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ProvisionAnswer } from '../contract/provisioning.ts';
import type { ManifestDocument } from '../domain/manifest/manifest.ts';
import { type PlannedAgent, type PresentAgent, type ProvisionPlan, planProvision } from '../domain/provision-plan.ts';
import { OutcomeUnknownError, PartnerctlError, ServiceError, ShapeError } from '../errors.ts';
import type { Clock } from '../io.ts';
import { CannotLook, findSpaces, inspectAgents, inspectSpace } from './look.ts';
import type { Memory } from './memory.ts';
import type { AgentResult, DocumentResult } from './result.ts';

/** What provisioning one document needs. */
export interface Surface {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: () => number;
  readonly interrupt: AbortSignal;
  readonly retries: number;
  /** The spaces that the first look found, by external id; undefined when the service could not be asked. */
  readonly listed: ReadonlyMap<string, JsonObject> | undefined;
  readonly memory: Memory;
  /** Told why the service cannot be asked what is there. */
  readonly onBlind: (reason: CannotLook) => Promise<void>;
}

/** The document's own facts, with nothing done. */
export function untouched(document: ManifestDocument, status: 'failed' | 'skipped' | 'planned'): DocumentResult {
  const { index, source, manifest } = document;
  return {
    index,
    source,
    external_space_id: manifest.external_space_id,
    space_id: null,
    status,
    agents: manifest.agents.map(({ name, template_id }) => ({
      agent_id: null,
      name,
      template_id,
      status,
      source_id: null,
    })),
    differences: [],
  };
}

/** What would be done for a document. @throws CannotLook when the service cannot be asked */
export async function planDocument(
  http: Http,
  listed: ReadonlyMap<string, JsonObject>,
  document: ManifestDocument,
): Promise<DocumentResult> {
  const space = listed.get(document.manifest.external_space_id);
  const present = space && (await inspectSpace(http, space));
  const plan = planProvision(document.manifest, present);
  return {
    ...untouched(document, 'planned'),
    space_id: present?.space_id ?? null,
    status: plan.action === 'none' ? 'unchanged' : 'planned',
    agents: plan.agents.map((agent) => agentResult(agent, agent.present, agent.present ? 'unchanged' : 'planned')),
    differences: plan.differences,
    ...(plan.action !== 'none' && { action: plan.action }),
  };
}

function agentResult(
  { wanted }: PlannedAgent,
  found: PresentAgent | undefined,
  status: AgentResult['status'],
): AgentResult {
  const { name, template_id } = wanted;
  return { agent_id: found?.agent_id ?? null, name, template_id, status, source_id: found?.source_id ?? null };
}

/**
 * A document that is now as it should be.
 * @param first the plan before anything was sent: it tells what is new
 * @param agents the agents that are there now, one for each of the plan
 */
function finished(
  document: ManifestDocument,
  first: ProvisionPlan,
  spaceId: string,
  agents: readonly (PresentAgent | undefined)[],
  created?: boolean,
): DocumentResult {
  const changed = first.action === 'create' && created !== false ? 'created' : 'reused';
  return {
    ...untouched(document, 'planned'),
    space_id: spaceId,
    status: first.action === 'none' ? 'unchanged' : changed,
    agents: first.agents.map((agent, index) =>
      agentResult(agent, agents[index], agent.present ? 'unchanged' : 'created'),
    ),
    differences: first.differences,
  };
}

/** Gives each new agent the one of the answer that fits: by name and template, else by name. */
function matchInstalled(
  missing: readonly PlannedAgent[],
  installed: readonly PresentAgent[],
): (PresentAgent | undefined)[] {
  const free = [...installed];
  return missing.map(({ wanted }) => {
    const fits = (agent: PresentAgent): boolean =>
      agent.name === wanted.name && (agent.template_id === undefined || agent.template_id === wanted.template_id);
    const index = free.findIndex(fits);
    return index === -1 ? undefined : free.splice(index, 1)[0];
  });
}

async function installedAgents(
  surface: Surface,
  answer: ProvisionAnswer,
  missing: readonly PlannedAgent[],
  known: ReadonlySet<string | undefined>,
): Promise<(PresentAgent | undefined)[]> {
  const fresh = (agents: readonly PresentAgent[]): PresentAgent[] =>
    agents.filter(({ agent_id }) => !known.has(agent_id));
  const named = matchInstalled(missing, fresh(answer.agents));
  if (named.every((agent) => agent)) return named;
  try {
    return matchInstalled(missing, fresh(await inspectAgents(surface.http, answer.space_id)));
  } catch (error) {
    // The space is provisioned whatever this look comes to; its agents stay without ids.
    if (error instanceof CannotLook || error instanceof PartnerctlError) return named;
    throw error;
  }
}

/** Posts what is missing. */
async function post(
  surface: Surface,
  document: ManifestDocument,
  first: ProvisionPlan,
  plan: ProvisionPlan,
  blind: boolean,
): Promise<DocumentResult> {
  const missing = plan.agents.filter(({ present }) => !present);
  const body = { ...document.manifest, agents: missing.map(({ wanted }) => wanted) };
  // Who can look does so before repeating: there are services that install the agents again on every POST.
  const answer = await provisionSpace(surface.http, body, blind ? 'idempotent' : 'once');
  const known = new Set(plan.agents.flatMap(({ present }) => (present ? [present.agent_id] : [])));
  const installed = await installedAgents(surface, answer, missing, known);
  const agents = plan.agents.map((agent) => agent.present ?? installed[missing.indexOf(agent)]);
  return finished(document, first, answer.space_id, agents, answer.created);
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
    return finished(
      document,
      plan,
      present.space_id,
      plan.agents.map((agent) => agent.present),
    );
  }
  return remember(surface, document, await post(surface, document, plan, plan, true));
}

/** What a failed POST leaves open is found out by looking; a failed look may pass. */
function mayPass(error: unknown): boolean {
  return error instanceof OutcomeUnknownError || error instanceof ServiceError;
}

/** How long to wait before another round: the usual back-off, and no less than the service asks for. */
function pauseBefore(error: unknown, round: number, { clock, random }: Surface): number {
  const retryAt = error instanceof PartnerctlError ? error.facts.retryAt : undefined;
  const floor = retryAt === undefined ? 0 : Date.parse(retryAt) - clock.now();
  return Math.max(floor, backoffMs(round, random()));
}

function stillOpen(error: unknown): unknown {
  if (!(error instanceof OutcomeUnknownError)) return error;
  return new ServiceError('The service failed, and it is open whether the space was provisioned.', {
    ...error.facts,
    hint: 'Run it again: it looks at what is there before it writes.',
  });
}

/** What the rounds of one document know of each other. */
interface SoFar {
  /** The plan before anything was sent. */
  first?: ProvisionPlan;
  /** An answer to a POST that could not be read. */
  unreadable?: ShapeError;
}

/** One look, and one POST of what is missing. */
async function lookAndPost(
  surface: Surface,
  document: ManifestDocument,
  listed: ReadonlyMap<string, JsonObject>,
  soFar: SoFar,
): Promise<DocumentResult> {
  const space = listed.get(document.manifest.external_space_id);
  const present = space && (await inspectSpace(surface.http, space));
  const plan = planProvision(document.manifest, present);
  soFar.first ??= plan;
  if (present && plan.action === 'none') {
    const agents = plan.agents.map((agent) => agent.present);
    return remember(surface, document, finished(document, soFar.first, present.space_id, agents));
  }
  if (soFar.unreadable) throw soFar.unreadable;
  return remember(surface, document, await post(surface, document, soFar.first, plan, false));
}

/** Whether a look may settle what this failure left open. */
function isWorthALook(error: unknown, soFar: SoFar): boolean {
  // An answer that cannot be read says that something was done; one more look tells what.
  if (error instanceof ShapeError && soFar.first && !soFar.unreadable) {
    soFar.unreadable = error;
    return true;
  }
  return mayPass(error);
}

/** Looks, posts what is missing, and looks again before anything is repeated. */
async function provisionSighted(
  surface: Surface,
  document: ManifestDocument,
  firstListed: ReadonlyMap<string, JsonObject>,
): Promise<DocumentResult> {
  const ids = new Set([document.manifest.external_space_id]);
  // A round costs one POST at most, and looking first makes it harmless; so there may be more of them than of retries.
  const rounds = 1 + 2 * surface.retries;
  const soFar: SoFar = {};
  for (let round = 1; ; round += 1) {
    try {
      const listed = round === 1 ? firstListed : await findSpaces(surface.http, ids);
      return await lookAndPost(surface, document, listed, soFar);
    } catch (error) {
      const delayMs = pauseBefore(error, round, surface);
      const again = isWorthALook(error, soFar) && round < rounds && delayMs <= surface.http.patienceMs();
      if (!again) throw stillOpen(error);
      await surface.clock.sleep(delayMs, surface.interrupt);
    }
  }
}

/**
 * Brings one space to what its document says.
 * @throws PartnerctlError when that cannot be done
 */
export async function provisionDocument(surface: Surface, document: ManifestDocument): Promise<DocumentResult> {
  if (!surface.listed) return provisionBlindly(surface, document);
  try {
    return await provisionSighted(surface, document, surface.listed);
  } catch (error) {
    if (!(error instanceof CannotLook)) throw error;
    await surface.onBlind(error);
    return provisionBlindly(surface, document);
  }
}
