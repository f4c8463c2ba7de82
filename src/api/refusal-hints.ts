import type { Contract } from '../contract/contract.ts';
import type { ErrorBody } from '../contract/error-body.ts';
import { normalizeName } from '../contract/field-names.ts';
import { type OperationLeaf, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';
import { describeFix, describeMethod } from '../contract/unknown-shape.ts';
import { shellQuote } from '../platform/shell-quote.ts';
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
 * Returns the setting that helps after a refusal which names a field that was not sent: what is missing is probably sent
 * under another name, of which the field's is a part, or the reverse (`session` for `session_id`).
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
  const named = new Set(fields.map(({ path }) => lastStep(path, isForm)));
  const missing = [...named].filter((name) => name !== '' && !sent.some((each) => each.name === name));
  const lines = missing.map((name) => {
    const near = sent.length === 1 ? sent : sent.filter((each) => isPart(each.name, name) || isPart(name, each.name));
    const [only, ...others] = near;
    return only && others.length === 0 ? describeFix({ leaf: only.leaf, value: only.before + name }) : byImport;
  });
  if (lines.length > 0) return [...new Set(lines)].join('\n');
  const isOpen = operation.endsWith('.list') || sent.some(({ leaf }) => contract.leaf(leaf).source === 'assumed');
  return isOpen && fields.length === 0 ? byImport : undefined;
}

function isPart(name: string, of: string): boolean {
  return normalizeName(of).includes(normalizeName(name));
}

/** Returns the methods in an Allow header. */
function methodsIn(allow = ''): readonly string[] {
  return allow.toUpperCase().match(/[A-Z]+/g) ?? [];
}

/** Whether an Allow header names methods, and not this one. */
export function isMethodMissing(method: string, allow: string | undefined): boolean {
  const methods = methodsIn(allow);
  return methods.length > 0 && !methods.includes(method);
}

/**
 * Returns the settings that help where the service does not know a path or method.
 * @param allow the Allow header of a response that refuses the method, empty if it has none; undefined for any other response
 */
export function addressHint({ operation: { leaf }, method, contract }: RefusedCall, allow: string | undefined): string {
  if (leaf === undefined) return allow ? `The service takes here: ${allow}` : 'Check the method and the path.';
  const { value } = contract.leaf(leaf);
  const path = value.slice(value.indexOf(' ') + 1);
  const methods = methodsIn(allow);
  if (leaf.endsWith('.list') && isMethodMissing(method, allow)) {
    const fix = describeFix({ leaf, value: `${method} <path>`, condition: 'the list has another path' });
    return `The service has no list at ${path}: it takes only ${methods.join(', ')} there.\n${fix}`;
  }
  // Never suggest POST for a list: it would create something. Spec §4.4 leaves the method of the history open.
  const isWrite = method !== 'GET' || leaf === 'messages.history';
  const named = methods.find((each) => ['POST', 'PUT', 'PATCH'].includes(each) && each !== method && isWrite);
  const isRefused = allow !== undefined && leaf === 'messages.history' && method === 'GET';
  const other = named ?? (isRefused ? 'POST' : undefined);
  const slash = path.endsWith('/') && contract.slash() !== 'never' ? 'never' : 'always';
  return [
    'The method or path of the service may differ.',
    other === undefined
      ? describeFix({ leaf, value: '<METHOD> <path>' })
      : describeMethod([{ leaf, value: `${other} ${path}` }, ...inBody(leaf, contract)]),
    `Or, if only the trailing slash differs: partnerctl contract set paths.trailing_slash ${slash}`,
  ].join('\n');
}

/** The settings that send the parameters of a query in a body: a method with a body takes them there. */
function inBody(operation: OperationLeaf, contract: Contract): readonly { leaf: ParameterLeaf; value: string }[] {
  return sentParameters(operation, contract)
    .filter(({ before }) => before === 'query:')
    .map(({ leaf, name }) => ({ leaf, value: `body:${name}` }));
}
