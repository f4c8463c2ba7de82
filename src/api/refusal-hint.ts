import type { Contract } from '../contract/contract.ts';
import type { ErrorBody } from '../contract/error-body.ts';
import { normalizeName } from '../contract/field-names.ts';
import { type OperationLeaf, parametersOf } from '../contract/leaves.ts';
import { type ContractFix, describeFix } from '../contract/unknown-shape.ts';
import { shellQuote } from '../platform/shell-quote.ts';
import type { CallFacts } from './call-errors.ts';

/** Returns the commands that help if the service takes a call otherwise than the contract says. */
export function contractHint({ operation: { leaf }, baseUrl, url }: CallFacts, status: number): string | undefined {
  if (leaf === undefined) return undefined;
  const slash = new URL(url).pathname.endsWith('/') ? 'never' : 'always';
  const lines = [
    `If the service takes this call otherwise, its OpenAPI document tells how: partnerctl contract import ${shellQuote(baseUrl)}`,
    `Or set it with: partnerctl contract set ${leaf} '<METHOD> <path>'`,
    `Or, if only the trailing slash differs: partnerctl contract set paths.trailing_slash ${slash}`,
  ];
  return (status === 404 || status === 405 ? lines : lines.slice(0, 2)).join('\n');
}

function isPart(name: string, of: string): boolean {
  return normalizeName(of).includes(normalizeName(name));
}

/**
 * Returns the setting for a parameter that the service calls otherwise: a refusal names a field that was not sent, and the only
 * parameter, or the only one that shares a part of its name (`session` for `session_id`), is probably meant.
 * @param paths the fields that the refusal names: `body.upload`, `agents[0].name`
 */
function renamedParameter(
  operation: OperationLeaf,
  contract: Contract,
  paths: readonly string[],
): ContractFix | undefined {
  const sent = parametersOf(operation).flatMap((leaf) => {
    const name = contract.parameter(leaf)?.path.at(-1);
    return name === undefined ? [] : [{ leaf, name }];
  });
  const named = paths.flatMap((path) => path.split(/[.[\]/]+/).findLast((step) => step !== '') ?? []);
  const missing = named.find((name) => !sent.some((each) => each.name === name));
  if (missing === undefined) return undefined;
  const near = sent.filter(({ name }) => sent.length === 1 || isPart(name, missing) || isPart(missing, name));
  const [only, ...others] = near;
  if (!only || others.length > 0) return undefined;
  const { value } = contract.leaf(only.leaf);
  return { leaf: only.leaf, value: value.slice(0, value.length - only.name.length) + missing };
}

/** Returns the commands that settle a refusal, if they can: the one that it points at, or else those of `contractHint`. */
export function refusalHint(call: CallFacts, { fields }: ErrorBody, status: number): string | undefined {
  const { operation, contract } = call;
  const paths = fields.map(({ path }) => path);
  const fix = operation.leaf && renamedParameter(operation.leaf, contract, paths);
  if (fix) return describeFix(fix);
  const isRefusedRead = status === 405 && operation.leaf === 'messages.history' && call.method === 'GET';
  const general = contractHint(call, status);
  return isRefusedRead ? `${describePost(contract)}\n${general}` : general;
}

/** The command for a history that is read with POST (spec §4.4 leaves the method open), which has its parameters in the body. */
function describePost(contract: Contract): string {
  const path = contract.leaf('messages.history').value.replace(/^GET /, 'POST ');
  const inBody = parametersOf('messages.history').flatMap((leaf) => {
    const { place, path: steps = [] } = contract.parameter(leaf) ?? {};
    return place === 'query' ? `${leaf} body:${steps.join('.')}` : [];
  });
  return `To read it with POST, run: partnerctl contract set messages.history ${[shellQuote(path), ...inBody].join(' ')}`;
}
