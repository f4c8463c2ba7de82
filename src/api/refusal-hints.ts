import type { Contract } from '../contract/contract.ts';
import type { ErrorBody } from '../contract/error-body.ts';
import { normalizeName } from '../contract/field-names.ts';
import { type OperationLeaf, type ParameterLeaf, parametersOf } from '../contract/leaves.ts';
import { describeFix, setCommand } from '../contract/unknown-shape.ts';
import { shellQuote } from '../platform/shell-quote.ts';
import type { CallFacts } from './call-errors.ts';

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

/** Returns the command that sends a parameter as a refusal names it; undefined if all fields that it names were sent. */
export function parameterHint({ operation, contract, baseUrl }: CallFacts, { fields }: ErrorBody): string | undefined {
  if (operation.leaf === undefined) return undefined;
  const sent = sentParameters(operation.leaf, contract);
  const named = fields.map(({ path }) => path.split(/[.[\]/]+/).findLast((step) => step !== '') ?? '');
  const missing = named.find((name) => name !== '' && !sent.some((each) => each.name === name));
  if (missing === undefined && fields.length > 0) return undefined;
  const isPart = (name: string, of: string) => normalizeName(of).includes(normalizeName(name));
  // What is missing is probably sent under a similar name: `session` for `session_id`.
  const near = sent.filter(
    ({ name }) => sent.length === 1 || isPart(name, missing ?? '') || isPart(missing ?? '', name),
  );
  const [only, ...others] = missing === undefined ? [] : near;
  return only && missing && others.length === 0
    ? describeFix({ leaf: only.leaf, value: only.before + missing })
    : `If the service names its parameters otherwise, its OpenAPI document tells how: partnerctl contract import ${shellQuote(baseUrl)}`;
}

/** Returns the commands that help if the service does not know a path or, with a 405, a method. */
export function addressHint({ operation: { leaf }, method, contract }: CallFacts, status: number): string {
  if (leaf === undefined) return 'Check the method and the path.';
  const path = contract.leaf(leaf).value.replace(/^\S+ /, '');
  // Spec §4.4 leaves the method of the history open. Never suggest POST for another read: it would create something.
  const isPosted = leaf === 'messages.history' && method === 'GET' && status === 405;
  const slash = path.endsWith('/') && contract.slash() !== 'never' ? 'never' : 'always';
  return [
    'The method or path of the service may differ.',
    isPosted
      ? `To use that method, run: ${setCommand({ leaf, value: `POST ${path}` }, ...inBody(leaf, contract))}`
      : describeFix({ leaf, value: '<METHOD> <path>' }),
    `Or, if only the trailing slash differs: partnerctl contract set paths.trailing_slash ${slash}`,
  ].join('\n');
}

/** The settings that send the parameters of a query in a body. */
function inBody(operation: OperationLeaf, contract: Contract): readonly { leaf: ParameterLeaf; value: string }[] {
  return sentParameters(operation, contract)
    .filter(({ before }) => before === 'query:')
    .map(({ leaf, name }) => ({ leaf, value: `body:${name}` }));
}
