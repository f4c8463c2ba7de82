import { describeFix, describeParameters } from '../contract/assumptions.ts';
import type { Contract } from '../contract/contract.ts';
import type { ErrorBody } from '../contract/error-body.ts';
import { normalizeName } from '../contract/field-names.ts';
import { type OperationLeaf, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';
import { matchParameter } from '../contract/likely-names.ts';
import { type ErrorInfo, RefusedError } from '../errors.ts';

/** What a refused request was. */
export interface RefusedRequest {
  /** Undefined for a call that the user typed. */
  readonly operation: OperationLeaf | undefined;
  readonly method: string;
  readonly contract: Contract;
}

const QUOTED = /["'`]([A-Za-z][\w.[\]-]*)["'`]/g;
const NAME = /[A-Za-z][\w.[\]-]*/g;
/** One name or several: `source, "session", and after`. */
const NAMES = /["'`]?[A-Za-z][\w.[\]-]*["'`]?(?:(?:,| and|, and) ["'`]?[A-Za-z][\w.[\]-]*["'`]?)*/.source;
const REQUIRED = new RegExp(`(${NAMES}) (?:is|are|was|were) (?:a )?(?:required|missing|mandatory)`, 'g');
const MISSING = new RegExp(
  `(?:missing|required|expected|provide)(?: (?:required|the|an?|(?:request|part|field|parameter|propert|key|argument)(?:s|y|ies)?))*:? (${NAMES})`,
  'gi',
);
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

/** Unlike in JSON, `[]` at the end is a part of the name of a form field. */
function formField(name: string): string {
  return lastStep(name) + (name.endsWith('[]') ? '[]' : '');
}

/** The names in a complaint that may be names of parameters. */
function namesIn({ message = '', fields }: ErrorBody, parameters: readonly Parameter[]): readonly string[] {
  const toName = parameters.some(({ before }) => before.startsWith('form:')) ? formField : lastStep;
  const texts = [message, ...fields.map((field) => field.message)];
  const found = [QUOTED, REQUIRED, MISSING].flatMap((pattern) =>
    texts.flatMap((text) => [...text.matchAll(pattern)].flatMap(([, names = '']) => names.match(NAME) ?? [])),
  );
  return [...new Set([...fields.map(({ path }) => toName(path)), ...found.map(toName)])].filter((name) => name !== '');
}

interface Parameter {
  readonly leaf: ParameterLeaf;
  readonly name: string;
  /** The value of its leaf up to its name. */
  readonly before: string;
}

function sentParameters({ operation, contract }: RefusedRequest): readonly Parameter[] {
  if (operation === undefined) return [];
  return parametersOf(operation).flatMap((leaf) => {
    const parameter = contract.parameter(leaf);
    const name = parameter?.path.at(-1);
    if (parameter === undefined || name === undefined) return [];
    const { value } = contract.leaf(leaf);
    return [{ leaf, name, before: value.slice(0, value.length - name.length) }];
  });
}

/** A parameter that the service asks for under another name than the one it was sent under. */
export interface AskedParameter {
  readonly leaf: ParameterLeaf;
  /** Where to send it, as a value of the leaf. */
  readonly value: string;
  /** Whether the name can mean no other parameter. */
  readonly isCertain: boolean;
}

/** A refusal of a request whose parameters have other names at the service. */
export class OtherParametersAsked extends RefusedError {
  readonly asked: readonly AskedParameter[];

  constructor(message: string, info: ErrorInfo, asked: readonly AskedParameter[]) {
    super(message, info);
    this.asked = asked;
  }
}

/** The parameter that the service probably means by a name that the request does not have. */
function likelyParameter(
  name: string,
  parameters: readonly Parameter[],
  operation: OperationLeaf,
): AskedParameter | undefined {
  const fits = parameters.map((parameter) => {
    const fit = matchParameter(name, parameter.leaf.slice(operation.length + 1));
    const isSame = normalizeName(parameter.name) === normalizeName(name);
    return { ...parameter, words: isSame ? Number.POSITIVE_INFINITY : fit.words, isCertain: isSame || fit.isCertain };
  });
  const [best] = fits.toSorted((a, b) => b.words - a.words);
  if (best === undefined || (best.words === 0 && parameters.length > 1)) return undefined;
  const isCertain = best.isCertain && fits.filter((fit) => fit.isCertain).length === 1;
  return { leaf: best.leaf, value: best.before + name, isCertain };
}

/** Returns what a refusal asks for that was not sent, at most one name for each parameter. */
export function askedParameters(request: RefusedRequest, body: ErrorBody): readonly AskedParameter[] {
  const complaint = complaintOf(body);
  if (!UNKNOWN.test(complaint) && !LACKS.test(complaint)) return [];
  const { operation } = request;
  if (operation === undefined) return [];
  const parameters = sentParameters(request);
  const asked = new Map<ParameterLeaf, AskedParameter>();
  for (const name of namesIn(body, parameters)) {
    if (parameters.some((parameter) => parameter.name === name)) continue;
    const likely = likelyParameter(name, parameters, operation);
    if (likely && !asked.has(likely.leaf)) asked.set(likely.leaf, likely);
  }
  return [...asked.values()];
}

function complaintOf({ message, fields }: ErrorBody): string {
  return [message, ...fields.map((field) => field.message)].join('\n');
}

/**
 * Returns the commands that settle a refusal which complains of an unknown or a missing parameter, each on its own line;
 * undefined for any other refusal.
 */
export function parameterHint(request: RefusedRequest, body: ErrorBody): string | undefined {
  if (request.operation === undefined) return undefined;
  const complaint = complaintOf(body);
  const isUnknown = UNKNOWN.test(complaint);
  if (!isUnknown && !LACKS.test(complaint)) return undefined;
  const asked = askedParameters(request, body);
  if (asked.length > 0) return describeParameters(asked);
  const parameters = sentParameters(request);
  const names = namesIn(body, parameters);
  const sentAs = (name: string) => parameters.find((parameter) => parameter.name === name);
  const unknown = isUnknown ? names.flatMap((name) => sentAs(name) ?? []) : [];
  const lines = unknown.map(({ leaf, before }) => describeFix({ leaf, value: `${before}<name>` }));
  // The service wants an object around the parameters, or other names for several: too many to set one by one.
  const isElsewhere = lines.length > MAX_LINES || (lines.length === 0 && names.some((name) => !sentAs(name)));
  if (isElsewhere) return [...new Set(lines)].concat(IMPORT).join('\n');
  return lines.length === 0 ? undefined : [...new Set(lines)].join('\n');
}

/** Returns the methods in an Allow header. */
function methodsIn(allow: string | undefined): readonly string[] {
  const methods = (allow ?? '').split(',').map((each) => each.trim().toUpperCase());
  return methods.filter((each) => each !== '');
}

/** Whether an Allow header names methods, and not this one: gateways that fail do not say so. */
export function isMethodMissing(method: string, allow: string | undefined): boolean {
  const methods = methodsIn(allow);
  return methods.length > 0 && !methods.includes(method);
}

/**
 * Returns how to settle a path or method that the service does not know.
 * @param allow the Allow header of the response
 */
export function addressHint({ operation, method, contract }: RefusedRequest, allow: string | undefined): string {
  if (operation === undefined) {
    return allow === undefined ? 'Check the method and the path.' : `The service takes here: ${allow}`;
  }
  const { value } = contract.leaf(operation);
  const path = value.slice(value.indexOf(' ') + 1);
  const other = methodsIn(allow);
  // Never suggest POST for a list: it would create something.
  const isWrite = method !== 'GET' || operation === 'messages.history';
  const allowed = other.find((each) => ['POST', 'PUT', 'PATCH'].includes(each) && each !== method && isWrite);
  if (operation.endsWith('.list') && isMethodMissing(method, allow)) {
    const condition = 'the list has another path';
    return `The service has no list at ${path}: it takes only ${other.join(', ')} there.\n${describeFix({ leaf: operation, value: `${method} <path>`, condition })}`;
  }
  const slash = path.endsWith('/') && contract.slash() !== 'never' ? 'never' : 'always';
  const fix = describeFix({ leaf: operation, value: allowed ? `${allowed} ${path}` : '<METHOD> <path>' });
  return [
    'The method or path of the service may differ.',
    fix,
    `Or, if only the trailing slash differs: partnerctl contract set paths.trailing_slash ${slash}`,
  ].join('\n');
}
