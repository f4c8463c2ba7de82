import { provisionSpace } from '../api/provisioning.ts';
import type { ProvisionAnswer } from '../contract/provisioning.ts';
import type { ManifestDocument } from '../domain/manifest/manifest.ts';
import type { PlannedAgent, PresentAgent, ProvisionPlan } from '../domain/provision-plan.ts';
import { PartnerctlError } from '../errors.ts';
import { CannotLook, inspectAgents } from './look.ts';
import { finished } from './outcome.ts';
import type { DocumentResult } from './result.ts';
import type { Surface } from './surface.ts';

/** Gives each new agent the one of the answer that fits: by name, and by template where it is told. */
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

/**
 * Posts what is missing.
 * @param first the plan before anything was sent
 * @param plan what is to be posted now
 * @param blind whether what is there could not be looked at; then a repeat is left to the transport, as the spec allows
 * @throws PartnerctlError; OutcomeUnknownError where it is open whether the POST was carried out
 */
export async function post(
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
