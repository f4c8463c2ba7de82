import { normalizeName } from '../contract/field-names.ts';
import { DEFAULTS, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';
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

/** Finds the places of the parameters that the spec leaves open (§4.7): those of a history, and the file of an upload. */
export function matchParameters(endpoint: Endpoint): readonly ParameterMatch[] {
  const leaves = parametersOf(endpoint.leaf);
  if (endpoint.leaf === 'messages.history') return matchHistory(leaves, endpoint);
  const file = leaves.find((leaf) => DEFAULTS[leaf].startsWith('form:'));
  return file ? matchFile(file, endpoint) : [];
}

function matchHistory(leaves: readonly ParameterLeaf[], { query, json }: Endpoint): readonly ParameterMatch[] {
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
  const isSilent = query.length + inBody.length === 0;
  const others = places.map(({ value }) => value).filter((value) => matches.every(({ found }) => found !== value));
  return matches.flatMap(({ leaf, found }) => {
    if (found === undefined && isSilent) return [];
    return [{ leaf, value: found ?? others }];
  });
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
