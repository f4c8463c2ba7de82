import { LEAVES, type OperationLeaf, parametersOf } from '../leaves.ts';
import type { OpenApiDocument } from './document.ts';
import { contentProperties, type Endpoint } from './endpoints.ts';
import { lettersAndDigits, singularName, singularWords } from './names.ts';
import { isPlaceholder, type PlaceholderName, pathParameterOf, pathParametersOf } from './path-parameters.ts';
import { PARAMETER_NAMES, VOCABULARY } from './vocabulary.ts';

/** An operation, and its endpoint in a document. */
export interface MatchedOperation {
  readonly leaf: OperationLeaf;
  readonly endpoint: Endpoint;
  /** The path of the endpoint, with the tool's names for path parameters. */
  readonly path: string;
  readonly placeholders: readonly PlaceholderName[];
}

/** Endpoints that match an operation equally well. */
export interface AmbiguousOperation {
  readonly leaf: OperationLeaf;
  readonly endpoints: readonly Endpoint[];
}

interface Candidate {
  readonly endpoint: Endpoint;
  readonly segments: readonly string[];
  /** The normalized names of its parameters. Computed on first use. */
  readonly parameterNames: () => ReadonlySet<string>;
}

/** The leaves of all operations. */
export const OPERATION_LEAVES = Object.keys(VOCABULARY).filter((name): name is OperationLeaf =>
  Object.hasOwn(VOCABULARY, name),
);

const MIN_SCORE = 40;
/** The minimum of the up to 30 points for parameters. */
const MIN_PARAMETERS = 8;
const SCORES = {
  exact: 200,
  prefixed: 180,
  tail: 120,
  lastSegment: 50,
  anySegment: 15,
  operationNoun: 20,
  verb: 15,
  tag: 10,
};

/** Splits a path into segments: placeholders as `{name}`, others in the singular. AIP verbs follow a colon. */
function segmentsOf(path: string): readonly string[] {
  return path
    .split(/[/:]/)
    .filter((segment) => segment !== '')
    .map((segment) => (/^\{[^{}]*\}$/.test(segment) ? segment : singularName(segment)));
}

function endsWith(segments: readonly string[], end: readonly string[]): boolean {
  const shift = segments.length - end.length;
  return (
    shift >= 0 &&
    end.every((segment, index) => {
      const other = segments[index + shift] ?? '';
      return isPlaceholder(segment) ? isPlaceholder(other) : segment === other;
    })
  );
}

function scorePath(leaf: OperationLeaf, segments: readonly string[]): number {
  const own = segmentsOf(LEAVES[leaf].value.replace(/^\w+ /, ''));
  if (endsWith(segments, own)) return segments.length === own.length ? SCORES.exact : SCORES.prefixed;
  if (own.length > 2 && endsWith(segments, own.slice(1))) return SCORES.tail;
  const { nouns } = VOCABULARY[leaf];
  const fixed = segments.filter((segment) => !isPlaceholder(segment));
  const last = nouns.indexOf(fixed.at(-1) ?? '');
  // The usual names come first.
  if (last !== -1) return SCORES.lastSegment - Math.min(last, 9);
  return fixed.some((segment) => nouns.includes(segment)) ? SCORES.anySegment : 0;
}

function scoreNames(leaf: OperationLeaf, { operationId, tags }: Endpoint): number {
  const { nouns, verbs } = VOCABULARY[leaf];
  const words = singularWords(operationId);
  const joined = words.join('');
  const noun = nouns.some((each) => joined.includes(each)) ? SCORES.operationNoun : 0;
  const verb = words.some((word) => verbs.includes(word)) ? SCORES.verb : 0;
  const tag = tags.some((each) => nouns.includes(singularName(each))) ? SCORES.tag : 0;
  return noun + (noun > 0 ? verb : 0) + tag;
}

/** Returns the normalized names of the parameters of an endpoint, wherever they are in the request. */
function parameterNamesOf(document: OpenApiDocument, { parameters, json, form }: Endpoint): ReadonlySet<string> {
  const inBodies = [...contentProperties(document, json), ...contentProperties(document, form)];
  return new Set(
    [...parameters.map(({ name }) => name), ...inBodies.map(({ path }) => path.at(-1) ?? '')].map(lettersAndDigits),
  );
}

/** Returns up to 30 points, for the fraction of the operation's parameters that the endpoint has. */
function scoreParameters(leaf: OperationLeaf, { parameterNames }: Candidate): number {
  const own = parametersOf(leaf);
  const known = own.filter((name) =>
    PARAMETER_NAMES[name].some((each) => parameterNames().has(lettersAndDigits(each))),
  );
  return own.length === 0 ? 0 : Math.round((30 * known.length) / own.length);
}

/** Whether the name of an endpoint says that it reads a history. */
function isNamedHistory({ path, operationId }: Endpoint): boolean {
  return [...singularWords(path), ...singularWords(operationId)].some((word) =>
    ['history', 'poll', 'search', 'list', 'read'].includes(word),
  );
}

/** Returns the query parameter with the space of a list of agents, if the path has none. */
function spaceParameter(leaf: OperationLeaf, { path, parameters }: Endpoint): string | undefined {
  if (leaf !== 'agents.list' || pathParametersOf(segmentsOf(path)).includes('space_id')) return undefined;
  const query = parameters.filter(({ place, name }) => place === 'query' && /^\w+$/.test(name));
  return query.find(({ name }) => pathParameterOf(name, undefined) === 'space_id')?.name;
}

function isPossible(leaf: OperationLeaf, endpoint: Endpoint, segments: readonly string[]): boolean {
  const { methods } = VOCABULARY[leaf];
  const found = pathParametersOf(segments);
  const usual = pathParametersOf(segmentsOf(LEAVES[leaf].value));
  const fillable = [...usual, ...parametersOf(leaf).map((name) => name.slice(leaf.length + 1))];
  const given = [...found, spaceParameter(leaf, endpoint) && 'space_id'];
  // An agent_id may identify an agent without its space.
  const needed = usual.includes('agent_id') ? ['agent_id'] : usual;
  if (!methods.includes(endpoint.method)) return false;
  if (leaf === 'messages.history' && endpoint.method === 'POST' && !isNamedHistory(endpoint)) return false;
  if (leaf === 'messages.send' && isNamedHistory(endpoint)) return false;
  // A path that ends in a placeholder is about one resource, not about a list or a new one.
  const isOne = isPlaceholder(segments.at(-1) ?? '') && found.at(-1) !== 'external_space_id';
  const isFillable = found.every((name) => name !== undefined && fillable.includes(name));
  return (
    !isOne &&
    isFillable &&
    needed.every((name) => given.some((each) => each === name)) &&
    new Set(found).size === found.length
  );
}

/** Whether an endpoint has the parameters of a write. A word such as "task" in a path is not enough. */
function takesParameters(leaf: OperationLeaf, candidate: Candidate): boolean {
  return scoreParameters(leaf, candidate) >= MIN_PARAMETERS;
}

/** Whether more than a word supports the match: the path of the spec, the parameters, or for a list those of its POST. */
function isSupported(leaf: OperationLeaf, candidate: Candidate, pathScore: number, all: readonly Candidate[]): boolean {
  if (pathScore >= SCORES.tail) return true;
  if (leaf !== 'cron_jobs.list') return parametersOf(leaf).length === 0 || takesParameters(leaf, candidate);
  return all.some(
    (other) =>
      other.endpoint.path === candidate.endpoint.path &&
      other !== candidate &&
      takesParameters('cron_jobs.create', other),
  );
}

function scoreOf(leaf: OperationLeaf, candidate: Candidate, all: readonly Candidate[]): number {
  const { endpoint, segments } = candidate;
  if (!isPossible(leaf, endpoint, segments)) return 0;
  const path = scorePath(leaf, segments);
  const named = path + scoreNames(leaf, endpoint);
  if (named === 0 || !isSupported(leaf, candidate, path, all)) return 0;
  return named + scoreParameters(leaf, candidate) - (endpoint.isDeprecated ? 30 : 0);
}

function toMatch(leaf: OperationLeaf, endpoint: Endpoint): MatchedOperation {
  const segments = segmentsOf(endpoint.path);
  const names = pathParametersOf(segments).filter((name) => name !== undefined);
  let index = -1;
  const path = endpoint.path.replace(/\{[^{}]*\}/g, () => {
    index += 1;
    return `{${names[index] ?? ''}}`;
  });
  const space = spaceParameter(leaf, endpoint);
  const inQuery = space === undefined ? '' : `?${space}={space_id}`;
  return { leaf, endpoint, path: path + inQuery, placeholders: names };
}

/**
 * Finds the tool's operations among the endpoints of a document: by path, then by operation id, tags, and parameters.
 * An endpoint is at most one operation, the one that it matches best.
 */
export function matchOperations(
  document: OpenApiDocument,
  endpoints: readonly Endpoint[],
): {
  readonly matches: readonly MatchedOperation[];
  readonly ambiguous: readonly AmbiguousOperation[];
} {
  const candidates = endpoints.map((endpoint): Candidate => {
    let names: ReadonlySet<string> | undefined;
    const parameterNames = (): ReadonlySet<string> => {
      names ??= parameterNamesOf(document, endpoint);
      return names;
    };
    return { endpoint, segments: segmentsOf(endpoint.path), parameterNames };
  });
  const scored = OPERATION_LEAVES.flatMap((leaf) =>
    candidates.map((candidate) => ({
      leaf,
      endpoint: candidate.endpoint,
      score: scoreOf(leaf, candidate, candidates),
    })),
  )
    .filter(({ score }) => score >= MIN_SCORE)
    .sort((one, other) => other.score - one.score);
  const matches = new Map<OperationLeaf, MatchedOperation>();
  const ambiguous = new Map<OperationLeaf, AmbiguousOperation>();
  const matched = new Set<Endpoint>();
  for (const { leaf, endpoint, score } of scored) {
    if (matches.has(leaf) || ambiguous.has(leaf) || matched.has(endpoint)) continue;
    const equals = scored.filter(
      (other) => other.leaf === leaf && other.score === score && !matched.has(other.endpoint),
    );
    if (equals.length > 1) ambiguous.set(leaf, { leaf, endpoints: equals.map((other) => other.endpoint) });
    else {
      matches.set(leaf, toMatch(leaf, endpoint));
      matched.add(endpoint);
    }
  }
  return { matches: [...matches.values()], ambiguous: [...ambiguous.values()] };
}
