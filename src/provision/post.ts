import { provisionSpace } from '../api/provisioning.ts';
import type { ProvisionResponse } from '../contract/provisioning.ts';
import { PartnerctlError } from '../errors.ts';
import { CannotLook, inspectAgents } from './look.ts';
import type { ManifestAgent, ManifestDocument } from './manifest.ts';
import { finished } from './outcome.ts';
import type { PlannedAgent, PresentAgent, ProvisionPlan } from './plan.ts';
import type { DocumentResult } from './result.ts';
import type { Surface } from './surface.ts';

type Match = (agent: PresentAgent, wanted: ManifestAgent) => boolean;

/** By name, and by template where it is told. */
const byName: Match = (agent, wanted) =>
  agent.name === wanted.name && (agent.template_id === undefined || agent.template_id === wanted.template_id);

/** A service may change names; a template that only one was asked for tells it apart as well. */
const byTemplate: Match = (agent, wanted) => agent.template_id === wanted.template_id;

/**
 * Gives each wanted agent the new one that it became, where that can be told.
 * @param installed agents that were not there before
 */
function matchInstalled(
  missing: readonly PlannedAgent[],
  installed: readonly PresentAgent[],
): (PresentAgent | undefined)[] {
  const named = missing.map(({ wanted }) => installed.find((agent) => byName(agent, wanted)));
  const rest = installed.filter((agent) => !named.includes(agent));
  return missing.map(({ wanted }, index) => {
    const rivals = missing.filter((other, at) => !named[at] && other.wanted.template_id === wanted.template_id);
    const candidates = rest.filter((agent) => byTemplate(agent, wanted));
    return named[index] ?? (rivals.length === 1 && candidates.length === 1 ? candidates[0] : undefined);
  });
}

/** The agents that a POST installed, out of its answer or, where that does not tell all, out of the list. */
async function installedAgents(
  surface: Surface,
  answer: ProvisionResponse,
  missing: readonly PlannedAgent[],
  before: ReadonlySet<string | undefined>,
): Promise<(PresentAgent | undefined)[]> {
  const fresh = (agents: readonly PresentAgent[]): PresentAgent[] =>
    agents.filter(({ agent_id }) => !before.has(agent_id));
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

/**
 * An agent as provisioning takes it. Its cron jobs are calls of their own; so is its chat, which says more than
 * provisioning can (a name, whether replies are given): a source that provisioning made before would stay as it is.
 */
function installation({ chat, cron: _, ...agent }: ManifestAgent): ManifestAgent {
  if (!chat) return agent;
  const { template_id, name } = agent;
  return { template_id, name };
}

/**
 * Posts what is missing.
 * @param first the plan before anything was sent
 * @param plan what is to be posted now
 * @param blind whether what is there could not be looked at; then a repeat is left to the transport, as the spec allows
 * @param before the ids of the agents that were there before, as far as they are known
 * @throws PartnerctlError; OutcomeUnknownError where it is open whether the POST was carried out
 */
export async function post(
  surface: Surface,
  document: ManifestDocument,
  first: ProvisionPlan,
  plan: ProvisionPlan,
  blind: boolean,
  before: ReadonlySet<string | undefined>,
): Promise<DocumentResult> {
  const missing = plan.agents.filter(({ present }) => !present);
  const body = { ...document.manifest, agents: missing.map(({ wanted }) => installation(wanted)) };
  // Who can look does so before repeating: there are services that install the agents again on every POST.
  const answer = await provisionSpace(surface.http, body, blind ? 'idempotent' : 'once');
  const installed = await installedAgents(surface, answer, missing, before);
  const agents = plan.agents.map((agent) => agent.present ?? installed[missing.indexOf(agent)]);
  return finished(document, first, answer.space_id, agents, answer.created);
}
