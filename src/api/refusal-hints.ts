import { describeFix } from '../contract/assumptions.ts';
import type { Contract } from '../contract/contract.ts';
import type { ErrorBody } from '../contract/error-body.ts';
import { normalizeName } from '../contract/field-names.ts';
import { wordsOf } from '../contract/kinship.ts';
import { type OperationLeaf, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';

/** What a refused request was. */
export interface RefusedRequest {
  readonly operation: OperationLeaf;
  readonly method: string;
  readonly contract: Contract;
}

const QUOTED = /["'`]([A-Za-z][\w.[\]-]*)["'`]/g;
const REQUIRED = /([A-Za-z][\w.[\]-]*)["'`]? (?:is|are|was) (?:a )?(?:required|missing|mandatory)/g;
const MISSING =
  /(?:missing|required|expected|provide)(?: (?:the|a|field|parameter|property|key|argument))*:? ["'`]?([A-Za-z][\w.-]*)/gi;
const UNKNOWN =
  /unknown|not (?:a |an )?(?:known|valid|recogni[sz]ed) (?:field|param|propert|key|argument)|unexpected|unrecogni[sz]ed|extra (?:field|input|key|param)|additional propert|not (?:permitted|allowed|recogni[sz]ed|expected|supported)|(?:invalid|unsupported|no such) (?:field|param|propert|key|argument)/i;
const LACKS = /missing|required|mandatory|blank|must (?:be present|have|contain)|expected|provide/i;

/** How many values an operator sets one by one. */
const MAX_LINES = 2;
const IMPORT =
  'If the service publishes an OpenAPI document, it tells all of them: partnerctl contract import <file|url>';

function lastStep(path: string): string {
  return path.split(/[.[\]/]+/).findLast((step) => step !== '') ?? path;
}

/** The names in a complaint that may be names of parameters. */
function namesIn({ message = '', fields }: ErrorBody): readonly string[] {
  const texts = [message, ...fields.map((field) => field.message)];
  const found = [QUOTED, REQUIRED, MISSING].flatMap((pattern) =>
    texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = '']) => name)),
  );
  return [...new Set([...fields.map(({ path }) => lastStep(path)), ...found.map(lastStep)])].filter(
    (name) => name !== '',
  );
}

interface Parameter {
  readonly leaf: ParameterLeaf;
  readonly name: string;
  /** The value of its leaf up to its name. */
  readonly before: string;
}

function sentParameters({ operation, contract }: RefusedRequest): readonly Parameter[] {
  return parametersOf(operation).flatMap((leaf) => {
    const parameter = contract.parameter(leaf);
    const name = parameter?.path.at(-1);
    if (parameter === undefined || name === undefined) return [];
    const { value } = contract.leaf(leaf);
    return [{ leaf, name, before: value.slice(0, value.length - name.length) }];
  });
}

/** The parameter that the service probably means by a name that the request does not have. */
function kinOf(name: string, parameters: readonly Parameter[]): Parameter | undefined {
  const words = wordsOf(name);
  const shared = (parameter: Parameter) => wordsOf(parameter.name).filter((word) => words.includes(word)).length;
  const [best] = parameters.toSorted((a, b) => shared(b) - shared(a));
  const same = parameters.find((parameter) => normalizeName(parameter.name) === normalizeName(name));
  if (same) return same;
  return parameters.length === 1 || (best && shared(best) > 0) ? best : undefined;
}

/**
 * Returns the commands that settle a refusal which complains of an unknown or a missing parameter, each on its own line;
 * undefined for any other refusal.
 */
export function parameterHint(request: RefusedRequest, body: ErrorBody): string | undefined {
  const said = [body.message, ...body.fields.map(({ message }) => message)].join('\n');
  const isUnknown = UNKNOWN.test(said);
  if (!isUnknown && !LACKS.test(said)) return undefined;
  const parameters = sentParameters(request);
  const names = namesIn(body);
  const isSent = (name: string) => parameters.find((parameter) => parameter.name === name);
  const wanted = names.filter((name) => !isSent(name));
  const fixes = wanted.flatMap((name) => {
    const kin = kinOf(name, parameters);
    return kin ? [describeFix({ leaf: kin.leaf, value: kin.before + name })] : [];
  });
  if (fixes.length > 0) return [...new Set(fixes)].join('\n');
  const unknown = isUnknown ? names.flatMap((name) => isSent(name) ?? []) : [];
  const lines = unknown.map(({ leaf, before }) => describeFix({ leaf, value: `${before}<name>` }));
  // Something that all parameters go into, or several names: too much to set one by one.
  const isElsewhere = lines.length > MAX_LINES || (lines.length === 0 && wanted.length > 0);
  if (isElsewhere) return [...new Set(lines)].concat(IMPORT).join('\n');
  return lines.length === 0 ? undefined : [...new Set(lines)].join('\n');
}

/**
 * Returns how to settle a path or method that the service does not know.
 * @param allow the Allow header of the response
 */
export function addressHint({ operation, method, contract }: RefusedRequest, allow: string | undefined): string {
  const { value } = contract.leaf(operation);
  const path = value.slice(value.indexOf(' ') + 1);
  const other = (allow ?? '').split(',').map((each) => each.trim().toUpperCase());
  // A list is never asked by POST: that would create something.
  const isWrite = method !== 'GET' || operation === 'messages.history';
  const allowed = other.find((each) => ['POST', 'PUT', 'PATCH'].includes(each) && each !== method && isWrite);
  const slash = path.endsWith('/') && contract.slash() !== 'never' ? 'never' : 'always';
  const fix = describeFix({ leaf: operation, value: allowed ? `${allowed} ${path}` : '<METHOD> <path>' });
  return [
    'The method or path of the service may differ.',
    fix,
    `Or, if only the closing slash differs: partnerctl contract set paths.trailing_slash ${slash}`,
  ].join('\n');
}
