import { Contract } from '../contract/contract.ts';
import { type JsonObject, parseJson } from '../contract/json.ts';
import { OPERATIONS, type RawOperation } from '../contract/operations.ts';
import { OutcomeUnknownError, PartnerctlError, ShapeError, withHint } from '../errors.ts';
import type { Http } from './http.ts';
import { listAll } from './list.ts';
import type { StreamedBody } from './streamed-body.ts';

/** The response to a call that the user typed. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The undecoded body. */
  readonly bytes: Uint8Array;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: { readonly value: unknown } | undefined;
  /** Why the call failed, although there is a response. */
  readonly error: PartnerctlError | undefined;
}

const NOTHING = new Uint8Array();

function parseBody(bytes: Uint8Array): RawResponse['json'] {
  try {
    return { value: parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch {
    return undefined;
  }
}

/** Adds a hint if the call may have taken effect. */
function withOutcomeHint(error: PartnerctlError): PartnerctlError {
  if (!(error instanceof OutcomeUnknownError)) return error;
  return withHint(error, {
    hint: 'Read what the service has before you send it again: nothing keeps it from being done twice.',
    details: {},
  });
}

/**
 * Makes one call as the user typed it.
 * @param body replaces the text of the request
 * @throws PartnerctlError if there is no response; see `Http.call`
 */
export async function callRaw(http: Http, operation: RawOperation, body?: StreamedBody): Promise<RawResponse> {
  let refusal: Omit<RawResponse, 'error' | 'json'> | undefined;
  try {
    const {
      status,
      headers,
      bytes = NOTHING,
    } = await http.call(operation, {
      ...(body && { body }),
      onRefusal: (response) => {
        refusal = { ...response, bytes: response.bytes ?? NOTHING };
      },
    });
    return { status, headers, bytes, json: parseBody(bytes), error: undefined };
  } catch (error) {
    if (!(error instanceof PartnerctlError)) throw error;
    if (!refusal) throw withOutcomeHint(error);
    return { ...refusal, json: parseBody(refusal.bytes), error: withOutcomeHint(error) };
  }
}

/**
 * Yields the items of a list at any path, page after page, and proves that it is the whole list as for every list.
 * @param path path and query of its first page, starting with the base path
 * @throws PartnerctlError; ShapeError for a response that is no list, or a list that cannot be read to its end
 */
export async function* listRaw(http: Http, path: string): AsyncGenerator<JsonObject> {
  const { pathname } = new URL(path, 'http://service');
  // The contract's values for its own lists need not hold for this one.
  const override = { 'spaces.list': `GET ${pathname.slice(http.basePath.length)}` };
  const anywhere = http.withContract(new Contract({ override }));
  const operation = { ...OPERATIONS.listSpaces, name: `GET ${path}` };
  const resource = pathname.split('/').findLast((segment) => segment !== '') ?? 'items';
  try {
    yield* listAll(anywhere, operation, resource, { link: path });
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const { message, info } = error;
    throw new ShapeError(message, {
      ...info,
      hint: 'Leave out --paginate to see the response as it is, and ask for each page yourself.',
      details: { operation: operation.name },
    });
  }
}
