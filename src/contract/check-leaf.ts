import { checkLeafValue, LeafValueError, parseOperation, parseParameter } from './leaf-value.ts';
import { isLeafName, LEAVES, type LeafName, type OperationLeaf, type ParameterLeaf, parametersOf } from './leaves.ts';

/** Parameters that change no call's main meaning, so that they are left out where a service does not take them. */
export const DISPENSABLE: readonly ParameterLeaf[] = [
  'spaces.provision.description',
  'spaces.provision.is_org_wide',
  'spaces.provision.agents.auto_create_api_chat',
  'spaces.provision.agents.api_chat_routing_mode',
  'sources.setup.name',
  'sources.setup.reply_capable',
  'sources.setup.routing_mode',
  'messages.send.response_mode',
  'cron_jobs.create.type',
];

/** Parameters that may be set to none. Without any other, a call would mean something else. */
const OPTIONAL: ReadonlySet<LeafName> = new Set<LeafName>([
  ...DISPENSABLE,
  'messages.history.source_id',
  'messages.history.session_id',
  'messages.history.after_message_id',
]);

const LISTS: ReadonlySet<LeafName> = new Set<LeafName>(['spaces.list', 'agents.list', 'cron_jobs.list']);

function placeholders(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

function checkOperation(name: OperationLeaf, value: string): void {
  const operation = parseOperation(value);
  if (operation === undefined) {
    if (LISTS.has(name)) return;
    throw new LeafValueError('cannot be none: only a list may be missing');
  }
  const known = placeholders(LEAVES[name].value);
  const allowed = [...known, ...parametersOf(name).map((parameter) => parameter.slice(name.length + 1))];
  const given = placeholders(operation.path);
  const unknown = given.find((placeholder) => !allowed.includes(placeholder));
  if (unknown !== undefined) {
    const names = allowed.length === 0 ? 'takes none' : `knows ${allowed.map((each) => `{${each}}`).join(', ')}`;
    throw new LeafValueError(`has the placeholder {${unknown}}; it ${names}`);
  }
  // The path of an agent need not name its space, too.
  const required = known.includes('agent_id') ? ['agent_id'] : known;
  const missing = required.find((placeholder) => !given.includes(placeholder));
  if (missing !== undefined) throw new LeafValueError(`needs the placeholder {${missing}}`);
}

function checkParameter(name: LeafName, value: string): void {
  const parameter = parseParameter(value);
  if (parameter === undefined) {
    if (OPTIONAL.has(name)) return;
    throw new LeafValueError('cannot be none: the call would mean something else without it');
  }
  const lists = (path: readonly string[]) => path.filter((step) => step.endsWith('[]')).length;
  const wanted = lists(parseParameter(LEAVES[name].value)?.path ?? []);
  if (lists(parameter.path) !== wanted) {
    const count = wanted === 0 ? 'no list' : 'one list';
    throw new LeafValueError(`must have ${count} ([]) in its path, as ${LEAVES[name].value}`);
  }
}

function isOperationLeaf(name: LeafName): name is OperationLeaf {
  return LEAVES[name].kind === 'operation';
}

/**
 * Checks that a leaf can have a value: its form, and that the call keeps its meaning.
 * @throws LeafValueError whose message follows the name of the leaf
 */
export function checkLeaf(name: LeafName, value: string): void {
  checkLeafValue(LEAVES[name].kind, value);
  if (isOperationLeaf(name)) checkOperation(name, value);
  if (LEAVES[name].kind === 'parameter') checkParameter(name, value);
}

/**
 * Returns the valid values of untrusted data.
 * @returns also the first complaint, as a sentence, if any value was left out
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
