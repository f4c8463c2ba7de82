import type { Contract } from '../contract/contract.ts';
import type { ErrorBody } from '../contract/error-body.ts';
import { normalizeName } from '../contract/field-names.ts';
import { type OperationLeaf, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';
import { describeFix, describeMethod } from '../contract/unknown-shape.ts';
import { shellQuote } from '../shell-quote.ts';
import type { CallFacts } from './call-errors.ts';

type RefusedCall = Pick<CallFacts, 'operation' | 'method' | 'contract' | 'baseUrl'>;

interface SentParameter {
  readonly leaf: ParameterLeaf;
  readonly name: string;
  /** The value of its leaf up to its name. */
  readonly before: string;
}

function sentParameters(operation: OperationLeaf, contract: Contract): readonly SentParameter[] {
  return parametersOf(operation).flatMap((leaf) => {
    const name = contract.parameter(leaf)?.path.at(-1);
    const { value } = contract.leaf(leaf);
    return name === undefined ? [] : [{ leaf, name, before: value.slice(0, value.length - name.length) }];
  });
}

/** The last step of a path: `name` for `body.agents[0].name`. In a form, `[]` at the end is a part of the name. */
function lastStep(path: string, isForm: boolean): string {
  const step = path.split(/[.[\]/]+/).findLast((each) => each !== '') ?? path;
  return isForm && path.endsWith('[]') ? `${step}[]` : step;
}

/**
 * Returns the command that settles a refusal which names a field that was not sent: what is missing is probably sent under
 * another name, of which the field's is a part, or the reverse (`session` for `session_id`).
 * @returns undefined if the refusal names only fields that were sent; where the spec leaves parameters open, the command that
 * imports their names
 */
export function parameterHint(
  { operation: { leaf: operation }, contract, baseUrl }: RefusedCall,
  { fields }: ErrorBody,
): string | undefined {
  if (operation === undefined) return undefined;
  const byImport = `If the service names its parameters otherwise, its OpenAPI document tells how: partnerctl contract import ${shellQuote(baseUrl)}`;
  const sent = sentParameters(operation, contract);
  const isForm = sent.some(({ before }) => before.startsWith('form:'));
  const named = fields.map(({ path }) => lastStep(path, isForm)).filter((name) => name !== '');
  const missing = [...new Set(named)].filter((name) => !sent.some((each) => each.name === name));
  const lines = missing.map((name) => {
    const near = sent.filter((each) => isPart(each.name, name) || isPart(name, each.name));
    const only = sent.length === 1 ? sent : near;
    return only.length === 1 && only[0] ? describeFix({ leaf: only[0].leaf, value: only[0].before + name }) : byImport;
  });
  if (lines.length > 0) return [...new Set(lines)].join('\n');
  const isOpen = operation.endsWith('.list') || sent.some(({ leaf }) => contract.leaf(leaf).source === 'assumed');
  return isOpen && fields.length === 0 ? byImport : undefined;
}

function isPart(name: string, of: string): boolean {
  return normalizeName(of).includes(normalizeName(name));
}

/** The settings that send the parameters of a query in a body: a method with a body takes them there. */
function inBody(operation: OperationLeaf, contract: Contract): readonly { leaf: ParameterLeaf; value: string }[] {
  return sentParameters(operation, contract)
    .filter(({ before }) => before === 'query:')
    .map(({ leaf, name }) => ({ leaf, value: `body:${name}` }));
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
 * @param isMethodRefused whether the service said that the path takes another method
 */
export function addressHint(
  { operation: { leaf: operation }, method, contract }: RefusedCall,
  allow: string | undefined,
  isMethodRefused = false,
): string {
  if (operation === undefined) {
    return allow === undefined ? 'Check the method and the path.' : `The service takes here: ${allow}`;
  }
  const { value } = contract.leaf(operation);
  const path = value.slice(value.indexOf(' ') + 1);
  const other = methodsIn(allow);
  // Never suggest POST for a list: it would create something.
  const isWrite = method !== 'GET' || operation === 'messages.history';
  const writes = other.find((each) => ['POST', 'PUT', 'PATCH'].includes(each) && each !== method && isWrite);
  // Spec §4.4 leaves the method of the history open, which has no use for any other.
  const isHistory = isMethodRefused && operation === 'messages.history' && method === 'GET';
  const allowed = writes ?? (isHistory ? 'POST' : undefined);
  if (operation.endsWith('.list') && isMethodMissing(method, allow)) {
    const condition = 'the list has another path';
    return `The service has no list at ${path}: it takes only ${other.join(', ')} there.\n${describeFix({ leaf: operation, value: `${method} <path>`, condition })}`;
  }
  const slash = path.endsWith('/') && contract.slash() !== 'never' ? 'never' : 'always';
  const fix = allowed
    ? describeMethod([{ leaf: operation, value: `${allowed} ${path}` }, ...inBody(operation, contract)])
    : describeFix({ leaf: operation, value: '<METHOD> <path>' });
  return [
    'The method or path of the service may differ.',
    fix,
    `Or, if only the trailing slash differs: partnerctl contract set paths.trailing_slash ${slash}`,
  ].join('\n');
}
