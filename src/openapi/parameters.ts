import { normalizeName } from '../contract/field-names.ts';
import { parseParameter } from '../contract/leaf-value.ts';
import { DEFAULTS, mayBeNone, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';
import type { OpenApiDocument } from './document.ts';
import type { Endpoint } from './endpoints.ts';
import { isOpen, isPrintable, type Shape, shapeOf } from './schema.ts';

interface Matches {
  /** Leaf values such as `query:source_id`; `none` for what the document forbids and the tool need not send. */
  readonly values: ReadonlyMap<ParameterLeaf, string>;
  /** The parameters that the document describes under no known name. */
  readonly missing: readonly ParameterLeaf[];
}

export interface ParameterMatches extends Matches {
  /** The parameters that the document requires, but the tool does not send, as `query:tenant`. */
  readonly unsent: readonly string[];
}

/** Normalized names of headers that the tool sends with every request. */
const SENT_HEADERS = ['authorization', 'accept', 'contenttype', 'useragent', 'xrequestid'];

/** Normalized names of the parameters that the spec leaves open (§4.7), the best first. */
const OPEN_NAMES: Partial<Record<ParameterLeaf, readonly string[]>> = {
  'messages.history.source_id': 'sourceid source chatsourceid apichatsourceid channelid channel'.split(' '),
  'messages.history.session_id':
    'sessionid session sessionkey conversationid conversation threadid thread chatid'.split(' '),
  'messages.history.after_message_id': 'aftermessageid afterid after sinceid since lastmessageid'.split(' '),
  'documents.create.file': ['file', 'upload', 'document', 'attachment', 'content'],
  'file_attachments.create.file': ['file', 'upload', 'attachment', 'content'],
};

/** Finds the places of an operation's parameters in a document. @throws OpenApiError as `shapeOf` */
export function matchParameters(document: OpenApiDocument, endpoint: Endpoint): ParameterMatches {
  const leaves = parametersOf(endpoint.leaf);
  const [first] = leaves;
  const matches = (): Matches => {
    if (first && DEFAULTS[first].startsWith('form:')) return matchFile(document, first, endpoint);
    if (endpoint.leaf === 'messages.history') return matchNames(leaves, endpoint);
    return matchBody(document, leaves, endpoint);
  };
  const { values, missing } = matches();
  const sent = new Set(leaves.map((leaf) => values.get(leaf) ?? DEFAULTS[leaf]));
  const unsent = endpoint.parameters
    .filter(({ isRequired }) => isRequired)
    .filter(({ name, place }) => !(place === 'header' && SENT_HEADERS.includes(normalizeName(name))))
    .map(({ name, place }) => `${place}:${name}`)
    .filter((value) => !sent.has(value));
  return { values, missing, unsent };
}

/** Finds parameters in the query or at the top of the body by their names. */
function matchNames(leaves: readonly ParameterLeaf[], { parameters, json }: Endpoint): Matches {
  const places = [
    ...parameters.filter(({ place }) => place === 'query').map(({ name }) => ['query', name] as const),
    ...[...(json?.properties.keys() ?? [])].map((name) => ['body', name] as const),
  ];
  const values = new Map<ParameterLeaf, string>();
  for (const leaf of leaves) {
    const found = (OPEN_NAMES[leaf] ?? []).map((name) => places.find(([, each]) => normalizeName(each) === name));
    const [place, name] = found.find((each) => each !== undefined) ?? [];
    if (place !== undefined) values.set(leaf, `${place}:${name}`);
  }
  const isSilent = places.length === 0 || (json !== undefined && isOpen(json));
  return { values, missing: isSilent ? [] : leaves.filter((leaf) => !values.has(leaf)) };
}

/** Finds the parameters of a body where the spec has them, in whatever case the document writes their names. */
function matchBody(document: OpenApiDocument, leaves: readonly ParameterLeaf[], { json }: Endpoint): Matches {
  const values = new Map<ParameterLeaf, string>();
  const missing: ParameterLeaf[] = [];
  for (const leaf of json === undefined ? [] : leaves) {
    const found = locate(document, json, parseParameter(DEFAULTS[leaf])?.path ?? []);
    if (Array.isArray(found)) values.set(leaf, `body:${found.join('.')}`);
    else if (mayBeNone(leaf) && found === 'closed') values.set(leaf, 'none');
    else if (!mayBeNone(leaf) && found !== 'open') missing.push(leaf);
  }
  return { values, missing };
}

/** Returns the names on a path as a schema spells them; or whether the object that lacks one may have it all the same. */
function locate(
  document: OpenApiDocument,
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
    const inner = shapeOf(document, shape.properties.get(name) ?? []);
    const isList = step.endsWith('[]');
    found.push(isList ? `${name}[]` : name);
    shape = isList ? shapeOf(document, inner.items) : inner;
  }
  return found;
}

/** Finds the form field of the file: the only binary one, or else one with a usual name. */
function matchFile(document: OpenApiDocument, leaf: ParameterLeaf, { form, json }: Endpoint): Matches {
  const isSilent = form ? form.properties.size === 0 && isOpen(form) : json === undefined;
  const fields = [...(form?.properties ?? [])].flatMap(([name, schemas]) => fieldsIn(document, name, schemas));
  const binary = fields.filter(({ shape }) => isBinary(document, shape));
  const possible = binary.length > 0 ? binary : fields;
  const named = (OPEN_NAMES[leaf] ?? []).map((wanted) => possible.find(({ name }) => normalizeName(name) === wanted));
  const file = binary.length === 1 ? binary[0] : named.find((each) => each !== undefined);
  if (file === undefined) return { values: new Map(), missing: isSilent ? [] : [leaf] };
  return { values: new Map([[leaf, `form:${file.name}`]]), missing: [] };
}

/** Returns a field of a form, or those in it: Rails names them `document[file]`. */
function fieldsIn(document: OpenApiDocument, name: string, schemas: readonly unknown[]) {
  const shape = shapeOf(document, schemas);
  const inner = [...shape.properties].map(([key, each]) => ({
    name: `${name}[${key}]`,
    shape: shapeOf(document, each),
  }));
  return (inner.length > 0 ? inner : [{ name, shape }]).filter((field) => isPrintable(field.name));
}

function isBinary(document: OpenApiDocument, { formats, items }: Shape): boolean {
  const all = items.length === 0 ? formats : shapeOf(document, items).formats;
  return all.some((format) => format === 'binary' || format === 'application/octet-stream');
}
