import { parseParameter } from '../contract/contract.ts';
import { normalizeName } from '../contract/field-names.ts';
import { DEFAULTS, mayBeNone, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';
import type { Endpoint } from './endpoints.ts';
import { isOpen, type Shape, shapeOf } from './schema.ts';

/**
 * A leaf value such as `query:source_id`, or `none` for what the document forbids and the tool need not send; undefined
 * if the document describes the parameter under no known name.
 */
type ParameterMatch = readonly [leaf: ParameterLeaf, value: string | undefined];

/** Normalized names of the parameters of a history, which the spec leaves open (§4.7), the best first. */
const HISTORY_NAMES: Partial<Record<ParameterLeaf, readonly string[]>> = {
  'messages.history.source_id': 'sourceid source chatsourceid apichatsourceid channelid channel'.split(' '),
  'messages.history.session_id':
    'sessionid session sessionkey conversationid conversation threadid thread chatid'.split(' '),
  'messages.history.after_message_id': 'aftermessageid afterid after sinceid since lastmessageid'.split(' '),
};

/** Finds the places of an operation's parameters in a document; none of those that it is silent about. */
export function matchParameters(endpoint: Endpoint): readonly ParameterMatch[] {
  const leaves = parametersOf(endpoint.leaf);
  const [first] = leaves;
  if (first && DEFAULTS[first].startsWith('form:')) return matchFile(first, endpoint);
  return endpoint.leaf === 'messages.history' ? matchHistory(leaves, endpoint) : matchBody(leaves, endpoint);
}

function matchHistory(leaves: readonly ParameterLeaf[], { query, json }: Endpoint): readonly ParameterMatch[] {
  const places = [
    ...query.map(({ name }) => ['query', name] as const),
    ...[...(json?.properties.keys() ?? [])].map((name) => ['body', name] as const),
  ];
  const isSilent = places.length === 0 || (json !== undefined && isOpen(json));
  return leaves.flatMap((leaf): readonly ParameterMatch[] => {
    const found = (HISTORY_NAMES[leaf] ?? []).map((name) => places.find(([, each]) => normalizeName(each) === name));
    const [place, name] = found.find((each) => each !== undefined) ?? [];
    if (place !== undefined) return [[leaf, `${place}:${name}`]];
    return isSilent ? [] : [[leaf, undefined]];
  });
}

/** Finds the parameters of a body where the spec has them, in whatever case the document writes their names. */
function matchBody(leaves: readonly ParameterLeaf[], { json }: Endpoint): readonly ParameterMatch[] {
  if (json === undefined) return [];
  return leaves.flatMap((leaf): readonly ParameterMatch[] => {
    const found = locate(json, parseParameter(DEFAULTS[leaf])?.path ?? []);
    if (typeof found !== 'string') return [[leaf, `body:${found.join('.')}`]];
    if (mayBeNone(leaf)) return found === 'closed' ? [[leaf, 'none']] : [];
    return found === 'open' ? [] : [[leaf, undefined]];
  });
}

/** Returns the names on a path as a schema spells them, or whether the object that lacks one may have it anyway. */
function locate(
  body: Shape | undefined,
  path: readonly string[],
): readonly string[] | 'open' | 'closed' | 'undeclared' {
  let shape = body;
  const found: string[] = [];
  for (const step of path) {
    if (shape === undefined || isOpen(shape)) return 'open';
    const wanted = normalizeName(step.replace('[]', ''));
    const name = [...shape.properties.keys()].find((each) => normalizeName(each) === wanted);
    if (name === undefined) return shape.isClosed ? 'closed' : 'undeclared';
    const inner = shapeOf(shape.properties.get(name) ?? []);
    const isList = step.endsWith('[]');
    found.push(isList ? `${name}[]` : name);
    shape = isList ? shapeOf(inner.items) : inner;
  }
  return found;
}

function matchFile(leaf: ParameterLeaf, { form }: Endpoint): readonly ParameterMatch[] {
  if (form === undefined || (form.properties.size === 0 && isOpen(form))) return [];
  const binary = [...form.properties].filter(([, schemas]) => isBinary(shapeOf(schemas)));
  const [[name] = [], other] = binary;
  return [[leaf, other === undefined && name !== undefined ? `form:${name}` : undefined]];
}

function isBinary({ formats, items }: Shape): boolean {
  const all = items.length === 0 ? formats : shapeOf(items).formats;
  return all.some((format) => format === 'binary' || format === 'application/octet-stream');
}
