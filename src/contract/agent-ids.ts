import { canonicalId } from './uuid.ts';

/** A URL or path without what does not identify the resource. */
function stripPath(text: string): string {
  return text.replace(/[?#].*$/, '').replace(/\/+$/, '');
}

/** The id at the end of a URL or path; any other id unchanged. */
function lastSegment(id: string): string {
  if (!id.includes('/')) return id;
  const path = stripPath(id);
  return path.slice(path.lastIndexOf('/') + 1);
}

/**
 * An agent's id for looking it up: services spell UUIDs in several ways, and may list the address of an agent as its id. Two
 * agents can share it if their ids are paths: see `namesAgent`.
 */
export function comparableAgent(agentId: string): string {
  return canonicalId(lastSegment(agentId));
}

/** Whether what a service shows as an agent, an id or an address, is this agent. */
export function namesAgent(shown: string, agentId: string): boolean {
  if (canonicalId(shown) === canonicalId(agentId)) return true;
  if (!shown.includes('/')) return false;
  return agentId.includes('/')
    ? stripPath(shown).endsWith(`/${stripPath(agentId).replace(/^\/+/, '')}`)
    : comparableAgent(shown) === canonicalId(agentId);
}
