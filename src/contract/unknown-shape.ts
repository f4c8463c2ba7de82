import { shellQuote } from '../platform/text.ts';
import { byNormalName } from './field-names.ts';
import { describeJson, type JsonObject } from './json.ts';
import type { LeafName } from './leaves.ts';

/** A leaf to set, and a value to try; `<name>` stands for one that the operator must fill in. */
export interface ContractFix {
  readonly leaf: LeafName;
  readonly value: string;
  readonly other?: string | undefined;
}

/** Returns the hint for a fix: its command, or two commands to choose from. */
export function describeFix({ leaf, value, other }: ContractFix): string {
  const set = (each: string) => `partnerctl contract set ${leaf} ${shellQuote(each)}`;
  if (other === undefined) return `To change that, run: ${set(value)}`;
  const choices = [value, other].map((each) => `If it is ${each}, run: ${set(each)}`);
  return `The documentation of the service says which one is right.\n${choices.join('\n')}`;
}

/** A response that cannot be read as the contract says. The API client turns it into an error for the user. */
export class UnknownShape extends Error {
  readonly seen: string;
  readonly fix: ContractFix | undefined;

  constructor(message: string, seen: string, fix?: ContractFix) {
    super(message);
    this.seen = seen;
    this.fix = fix;
  }
}

/** A response with a success status whose body reports an error. */
export class ErrorInBody extends UnknownShape {
  constructor(seen: string) {
    super('The response reports an error, although its status is a success.', seen);
  }
}

/** Fields that describe an error. An object with an id and none of these is a resource with its own `status`. */
const ERROR_FIELDS = /^(?:message|msg|details?|code|reason|errormessage|errorcode|title)$/;
const RESOURCE_ID = /^(?!(?:request|trace|correlation|error|log|event)id$).*id$/;

/** Whether an object says that the call failed: `success: false`, `error: {…}`; if it is no resource, `status: "failed"`. */
export function reportsError(object: JsonObject): boolean {
  const fields = [...byNormalName(object)];
  const hasName = (pattern: RegExp) => fields.some(([name]) => pattern.test(name));
  const isResource = () => hasName(RESOURCE_ID) && !hasName(ERROR_FIELDS);
  return fields.some(([name, value]) => {
    if (/^(?:is)?(?:success|ok|succeeded)$/.test(name)) return value === false;
    if (/^(?:(?:is|has)errors?|(?:error|fault)s?)$/.test(name))
      return Boolean(value) && !(typeof value === 'object' && value !== null && Object.keys(value).length === 0);
    const isFailure =
      typeof value === 'number'
        ? /^(?:status|statuscode|code)$/.test(name) && value >= 400 && value < 600
        : /^(?:status|result|outcome)$/.test(name) && /^(?:errors?|errored|fail|failed|failure)$/i.test(String(value));
    return isFailure && !isResource();
  });
}

/** Rejects a success whose body reports an error: an id or an empty list in it means nothing. @throws ErrorInBody */
export function rejectErrorInBody(body: unknown, envelopes: readonly JsonObject[]): void {
  if (envelopes.some(reportsError)) throw new ErrorInBody(describeJson(body));
}
