import { normalizeName } from '../contract/field-names.ts';
import { parseParameter } from '../contract/leaf-values.ts';
import { DEFAULTS, mayBeNone, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';
import type { Endpoint } from './endpoints.ts';
import { isPaging } from './paging.ts';
import { type Shape, shapeOf } from './schema.ts';

/** Where a document has a parameter: the value of its leaf, or those that it may have, none of which is likely. */
export interface ParameterMatch {
  readonly leaf: ParameterLeaf;
  readonly value: string | readonly string[];
}

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

function matchHistory(leaves: readonly ParameterLeaf[], { method, query, json }: Endpoint): readonly ParameterMatch[] {
  const inQuery = query.filter((each) => !isPaging(each) || /after/i.test(each.name));
  const inBody = [...json.properties].map(([name, schemas]) => ({ name, shape: shapeOf(schemas) }));
  const places = [
    ...inQuery.map(({ name, shape }) => ({ name, shape, value: `query:${name}` })),
    ...inBody.map(({ name, shape }) => ({ name, shape, value: `body:${name}` })),
  ];
  const matches = leaves.map((leaf) => {
    const named = (HISTORY_NAMES[leaf] ?? []).map((name) =>
      places.find((each) => normalizeName(each.name) === name && !each.shape.isTime),
    );
    return { leaf, found: named.find((each) => each !== undefined)?.value };
  });
  const isSilent = query.length + inBody.length === 0 || (method === 'POST' && json.isOpen);
  const others = places.map(({ value }) => value).filter((value) => matches.every(({ found }) => found !== value));
  return matches.flatMap(({ leaf, found }) => {
    if (found === undefined && isSilent) return [];
    return [{ leaf, value: found ?? others }];
  });
}

/** Finds the parameters of a body where the spec has them, in whatever case the document writes their names. */
function matchBody(leaves: readonly ParameterLeaf[], { json }: Endpoint): readonly ParameterMatch[] {
  const paths = leaves.map((leaf) => ({ leaf, steps: parseParameter(DEFAULTS[leaf])?.path ?? [] }));
  const known = new Set(paths.flatMap(({ steps }) => steps.map((step) => normalizeName(step.replace('[]', '')))));
  return paths.flatMap(({ leaf, steps }): readonly ParameterMatch[] => {
    const { path, lacking, inside } = locate(json, steps);
    if (path !== undefined) return [{ leaf, value: `body:${path}` }];
    if (lacking === undefined) return [];
    if (mayBeNone(leaf)) return lacking.isClosed ? [{ leaf, value: 'none' }] : [];
    const others = [...lacking.properties.keys()].filter((name) => !known.has(normalizeName(name)));
    return [{ leaf, value: others.map((name) => `body:${inside}${name}`) }];
  });
}

/** Follows a path through a body. @returns it as spelled, or the object that lacks a step, if it is closed */
function locate(body: Shape, path: readonly string[]) {
  let shape = body;
  let inside = '';
  for (const step of path) {
    if (shape.isOpen) return {};
    const wanted = normalizeName(step.replace('[]', ''));
    const name = [...shape.properties.keys()].find((each) => normalizeName(each) === wanted);
    if (name === undefined) return { lacking: shape, inside };
    const inner = shapeOf(shape.properties.get(name) ?? []);
    const isList = step.endsWith('[]');
    inside += isList ? `${name}[].` : `${name}.`;
    shape = isList ? shapeOf(inner.items) : inner;
  }
  return { path: inside.slice(0, -1) };
}

/** The file is the only binary field of the form, or its only field, or has the usual name. */
function matchFile(leaf: ParameterLeaf, { form }: Endpoint): readonly ParameterMatch[] {
  if (form.properties.size === 0) return [];
  const binary = [...form.properties].filter(([, schemas]) => isBinary(shapeOf(schemas)));
  const names = (binary.length > 0 ? binary : [...form.properties]).map(([name]) => `form:${name}`);
  const [only = DEFAULTS[leaf], other] = names;
  return [{ leaf, value: other === undefined ? only : (names.find((name) => name === DEFAULTS[leaf]) ?? names) }];
}

function isBinary({ formats, items }: Shape): boolean {
  const all = items.length === 0 ? formats : shapeOf(items).formats;
  return all.some((format) => format === 'binary' || format === 'application/octet-stream');
}
