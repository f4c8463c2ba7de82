import type { Contract } from '../contract/contract.ts';
import { normalizeName } from '../contract/field-names.ts';
import { type OperationLeaf, parametersOf } from '../contract/leaves.ts';
import type { ContractFix } from '../contract/unknown-shape.ts';

function isPart(name: string, of: string): boolean {
  return normalizeName(of).includes(normalizeName(name));
}

/**
 * Returns the setting for a parameter that the service calls otherwise: a refusal names a field that was not sent, and the only
 * parameter, or the only one that shares a part of its name (`session` for `session_id`), is probably meant.
 * @param paths the fields that the refusal names: `body.upload`, `agents[0].name`
 */
export function renamedParameter(
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
