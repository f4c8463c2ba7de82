import { checkLeafValue, LeafValueError, type ParameterValue, parseOperation, parseParameter } from './leaf-value.ts';
import { isLeafName, LEAVES, type LeafName, type OperationLeaf, parametersOf } from './leaves.ts';

function placeholders(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

function checkOperation(name: OperationLeaf, value: string): void {
  const operation = parseOperation(value);
  if (operation === undefined) {
    if (LEAVES[name].isOptional) return;
    throw new LeafValueError('cannot be none: only a list may be missing');
  }
  const known = placeholders(LEAVES[name].value);
  const allowed = [...known, ...parametersOf(name).map((parameter) => parameter.slice(name.length + 1))];
  const given = placeholders(operation.path);
  const unknown = given.find((placeholder) => !allowed.includes(placeholder));
  if (unknown !== undefined) {
    const names = allowed.length === 0 ? 'none are possible' : `use ${allowed.map((each) => `{${each}}`).join(', ')}`;
    throw new LeafValueError(`has the unknown placeholder {${unknown}}: ${names}`);
  }
  // An agent_id may identify an agent without its space.
  const required = known.includes('agent_id') ? ['agent_id'] : known;
  const missing = required.find((placeholder) => !given.includes(placeholder));
  if (missing !== undefined) throw new LeafValueError(`needs the placeholder {${missing}}`);
}

function checkParameter(name: LeafName, value: string): void {
  const parameter = parseParameter(value);
  if (parameter === undefined) {
    if (LEAVES[name].isOptional) return;
    throw new LeafValueError('cannot be none: the call would mean something else without it');
  }
  // In a form or a query, [] is a part of the name: `form:files[]`.
  const lists = ({ place, path }: ParameterValue) =>
    place === 'body' ? path.filter((step) => step.endsWith('[]')).length : 0;
  const original = parseParameter(LEAVES[name].value);
  const expected = original === undefined ? 0 : lists(original);
  if (lists(parameter) !== expected) {
    const count = expected === 0 ? 'no list' : 'one list';
    throw new LeafValueError(`must have ${count} ([]) in its path, like ${LEAVES[name].value}`);
  }
}

function isOperationLeaf(name: LeafName): name is OperationLeaf {
  return LEAVES[name].kind === 'operation';
}

/**
 * Checks that a leaf can have a value: the form of the value, and that the call keeps its meaning.
 * @throws LeafValueError with a message that continues the name of the leaf
 */
export function checkLeaf(name: LeafName, value: string): void {
  checkLeafValue(LEAVES[name].kind, value);
  if (isOperationLeaf(name)) checkOperation(name, value);
  if (LEAVES[name].kind === 'parameter') checkParameter(name, value);
}

/**
 * Picks the valid values from untrusted data.
 * @returns the values, and what is wrong with the first one that was left out, as a sentence
 */
export function validLeaves(stored: Readonly<Record<string, unknown>>): {
  readonly values: Readonly<Record<string, string>>;
  readonly complaint: string | undefined;
} {
  const values: Record<string, string> = {};
  let complaint: string | undefined;
  for (const [name, value] of Object.entries(stored)) {
    if (!isLeafName(name) || typeof value !== 'string') {
      complaint ??= `${name} is not a leaf with a value.`;
      continue;
    }
    try {
      checkLeaf(name, value);
      values[name] = value;
    } catch (error) {
      if (!(error instanceof LeafValueError)) throw error;
      complaint ??= `${name} ${error.message}.`;
    }
  }
  return { values, complaint };
}
