import type { JsonObject } from '../contract/json.ts';
import { findField, findId, findText, readId } from '../contract/plain-fields.ts';
import { NotFoundError, ShapeError, UsageError } from '../errors.ts';
import { readItem } from './api-response.ts';
import type { Http } from './http.ts';
import { listAgents, listSpaces } from './spaces.ts';

/** How the command line names a space: by id, or by a field to look up in the list of spaces. */
export type Reference =
  | { readonly by: 'id'; readonly value: string }
  | { readonly by: 'external_space_id' | 'name'; readonly value: string };

/** How the command line names an agent. */
export type AgentReference = { readonly by: 'id' | 'name'; readonly value: string };

const PREFIXES = { 'ext:': 'external_space_id', 'name:': 'name' } as const;

/** Parses `<space>`: a space_id, `ext:<external_space_id>`, or `name:<name>`. */
export function parseReference(text: string): Reference {
  for (const [prefix, by] of Object.entries(PREFIXES)) {
    if (text.startsWith(prefix)) return { by, value: text.slice(prefix.length) };
  }
  return { by: 'id', value: text };
}

/**
 * Parses `<agent>`: an agent_id, or `name:<name>`.
 * @throws UsageError for `ext:`, which only a space has
 */
export function parseAgentReference(text: string): AgentReference {
  const { by, value } = parseReference(text);
  if (by !== 'external_space_id') return { by, value };
  throw new UsageError(`${JSON.stringify(text)} does not name an agent: only spaces have an external id.`, {
    hint: 'Use the agent_id, or name:<name>.',
  });
}

/**
 * Resolves a reference to a space_id. Looks up any reference other than an id in the list of spaces.
 * @throws NotFoundError if no space matches, and UsageError if several do, both with candidates; ShapeError if the
 * match has no id, or if the list does not include the field
 */
export async function resolveSpaceId(http: Http, { by, value }: Reference): Promise<string> {
  if (by === 'id') return value;
  const wanted = { resource: 'space', field: by, value, listCommand: 'partnerctl spaces list' } as const;
  return findUniqueId(listSpaces(http), wanted);
}

/**
 * Resolves a reference to an agent_id. Looks up a name in the list of the space's agents.
 * @throws as `resolveSpaceId`, and NotFoundError if the space does not exist
 */
export async function resolveAgentId(http: Http, spaceId: string, { by, value }: AgentReference): Promise<string> {
  if (by === 'id') return value;
  const wanted = { resource: 'agent', field: by, value, listCommand: `partnerctl agents list ${spaceId}` } as const;
  return findUniqueId(listAgents(http, spaceId), wanted);
}

interface Wanted {
  readonly resource: 'space' | 'agent';
  readonly field: 'external_space_id' | 'name';
  readonly value: string;
  /** The command that shows the whole list. */
  readonly listCommand: string;
}

const MAX_CANDIDATES = 10;
const EMPTY_LIST = { space: 'The token can access no spaces.', agent: 'The space has no agents.' } as const;

/** Reads the whole list, because a second match makes the reference ambiguous. */
async function findUniqueId(items: AsyncIterable<JsonObject>, wanted: Wanted): Promise<string> {
  const { resource, field, value, listCommand } = wanted;
  const { matches, candidates, isFieldListed } = await matchItems(items, wanted);
  const describe = (shown: readonly JsonObject[]): string =>
    shown
      .slice(0, MAX_CANDIDATES)
      .map((item) => describeItem(item, resource))
      .join('\n');
  const details = (shown: readonly JsonObject[]) => ({
    candidates: shown.map((item) => findId(item, resource) ?? null),
  });
  if (!isFieldListed) {
    throw new ShapeError(`The service lists ${resource}s without their ${field}, so they cannot be matched by it.`, {
      hint: `Use the ${resource}_id. List the ${resource}s with: ${listCommand}`,
      details: details(candidates),
    });
  }
  const [match] = matches;
  if (!match) {
    throw new NotFoundError(`No ${resource} has the ${field} ${JSON.stringify(value)}.`, {
      why: candidates.length === 0 ? EMPTY_LIST[resource] : `Some that exist:\n${describe(candidates)}`,
      hint: `List all ${resource}s with: ${listCommand}`,
      details: details(candidates),
    });
  }
  if (matches.length > 1) {
    throw new UsageError(`${matches.length} ${resource}s have the ${field} ${JSON.stringify(value)}.`, {
      why: describe(matches),
      hint: `Use the ${resource}_id of the one you mean.`,
      details: details(matches),
    });
  }
  return readItem(match, (item) => readId(item, resource));
}

/** Returns the matches, and a few other items to suggest: similar items if there are any. */
async function matchItems(items: AsyncIterable<JsonObject>, { resource, field, value }: Wanted) {
  const matches: JsonObject[] = [];
  const similar: JsonObject[] = [];
  const others: JsonObject[] = [];
  const matchedIds = new Set<string>();
  let isEmpty = true;
  let hasField = false;
  for await (const item of items) {
    isEmpty = false;
    hasField ||= findField(item, resource, field) !== undefined;
    const found = findText(item, resource, field);
    if (found === value) {
      const id = findId(item, resource);
      // Pages shift while a list grows, so an item may appear twice.
      if (id === undefined || !matchedIds.has(id)) matches.push(item);
      if (id !== undefined) matchedIds.add(id);
    } else if (isSimilar(found, value) && similar.length < MAX_CANDIDATES) similar.push(item);
    else if (others.length < MAX_CANDIDATES) others.push(item);
  }
  return { matches, candidates: similar.length > 0 ? similar : others, isFieldListed: isEmpty || hasField };
}

function isSimilar(found: string | undefined, wanted: string): boolean {
  if (!found) return false;
  const [a, b] = [found.toLowerCase(), wanted.toLowerCase()];
  return a.includes(b) || b.includes(a);
}

function describeItem(item: JsonObject, resource: Wanted['resource']): string {
  const externalId = findText(item, resource, 'external_space_id');
  return [
    findId(item, resource),
    findText(item, resource, 'name'),
    externalId && `ext:${externalId}`,
    findText(item, resource, 'template_id'),
  ]
    .filter(Boolean)
    .join(' · ');
}
