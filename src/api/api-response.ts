import { isUtf8 } from 'node:buffer';
import type { Contract } from '../contract/contract.ts';
import { readErrorBody } from '../contract/error-body.ts';
import { describeJson, findIds, JsonLimitError, parseJson } from '../contract/json.ts';
import { describeFix, ErrorInBody, UnknownShape } from '../contract/unknown-shape.ts';
import { EmptyResponseError, type ErrorInfo, ErrorInSuccessBody, NotJsonError, ShapeError } from '../errors.ts';
import type { Call } from './call.ts';
import { toIndeterminate } from './call-errors.ts';
import type { HttpResponse } from './transport.ts';

const DEBUG_HINT = 'Run the command again with --debug to see the whole response.';

export class ApiResponse {
  readonly call: Call;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly bytes: Uint8Array;
  readonly body: string;
  private parsed: { readonly value: unknown } | undefined;

  constructor({ status, headers, body, bytes }: HttpResponse, call: Call, requestId: string) {
    this.call = call;
    this.status = status;
    this.headers = headers;
    this.requestId = headers['x-request-id'] ?? requestId;
    this.bytes = bytes;
    this.body = body;
  }

  /** Returns the body as JSON. @throws ShapeError unless it is JSON in UTF-8, OutcomeUnknownError for `once` */
  json(): unknown {
    try {
      // Names in other encodings cannot be compared.
      if (!this.parsed && !isUtf8(this.bytes)) throw new Error('The body is not UTF-8.');
      this.parsed ??= { value: parseJson(this.text) };
      return this.parsed.value;
    } catch (error) {
      throw toIndeterminate(this.bodyError(error), this.call.operation);
    }
  }

  /** Runs a reader from `contract` on the body. @throws as `json`, also for the reader's UnknownShape, and a 202 to `once` */
  read<Value>(reader: (body: unknown, contract: Contract) => Value): Value {
    const value = this.json();
    try {
      // An id in it may be that of the work that was queued. Spec §4.3 accepts messages so, which have ids of the caller.
      if (this.status === 202 && this.call.operation.safety === 'once')
        throw new UnknownShape(
          'The service accepted the request (202), and does not say what it created.',
          describeJson(value),
        );
      return reader(value, this.call.contract);
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      const failure = error instanceof ErrorInBody ? this.reportedError(error) : this.shapeError(error, value);
      throw toIndeterminate(failure, this.call.operation);
    }
  }

  /** The body without secrets: what it says may end up in the state, which people share. */
  private get text(): string {
    return this.call.redact(this.body);
  }

  /** Returns the error for a body that is not JSON. A gateway may have replaced it, so even its status proves nothing. */
  private bodyError(cause: unknown): ShapeError {
    const { operation, baseUrl } = this.call;
    if (cause instanceof JsonLimitError)
      return new ShapeError(`The response ${cause.message}.`, this.infoOf('JSON', DEBUG_HINT));
    if (this.text.trim() === '') {
      const none = `If the service has no such list: partnerctl contract set ${operation.leaf} none`;
      const hint = operation.leaf?.endsWith('.list') ? none : DEBUG_HINT;
      return new EmptyResponseError('The response is not JSON.', this.infoOf('an empty body', hint));
    }
    const said = readErrorBody(this.text, this.headers['content-type']).message ?? describeJson(this.text);
    const seen = isUtf8(this.bytes) ? said : 'text that is not UTF-8';
    const hint = `Check the base URL ${baseUrl}. ${DEBUG_HINT}`;
    return new NotJsonError('The response is not JSON.', this.infoOf(seen, hint));
  }

  private reportedError({ message, seen }: ErrorInBody): ShapeError {
    const said = readErrorBody(this.text, 'application/json');
    const info = this.infoOf(seen, DEBUG_HINT);
    const why = [said.message, ...said.fields.map((field) => field.message), info.why].filter(Boolean).join('\n');
    return new ErrorInSuccessBody(message, { ...info, why, code: said.code });
  }

  private shapeError({ message, seen, fix }: UnknownShape, value: unknown): ShapeError {
    const { safety } = this.call.operation;
    const command = fix && describeFix(fix);
    // The id of what was created may be in this message only, perhaps under the name that was refused.
    const suspects = fix?.leaf.endsWith('.id') ? fix.value.split(/[.,|] ?/) : [];
    const ids = safety === 'safe' ? {} : findIds(value, suspects);
    const named = Object.entries(ids).map(([path, id]) => `${path} ${JSON.stringify(id)}`);
    const found = named.length > 0 && `Ids in the response: ${named.join(', ')}`;
    const info = this.infoOf(seen, [command, DEBUG_HINT].filter(Boolean).join('\n'));
    return new ShapeError(message, {
      ...info,
      // The hint about a `once` call is the caller's: what may exist comes first.
      why: [info.why, safety === 'once' && command, found].filter(Boolean).join('\n'),
      details: { ...info.details, ...(fix && { leaf: fix.leaf }), ...(named.length > 0 && { ids }) },
    });
  }

  private infoOf(seen: string, hint: string) {
    const { call, status, requestId, headers } = this;
    // It may have the only trace of what was created.
    const location = call.operation.safety === 'once' && headers.location && call.redact(headers.location);
    return {
      why: `The service responded to ${call.name} with ${status}${location ? `, Location ${location},` : ''} and ${seen}.`,
      hint,
      status,
      requestId,
      details: { operation: call.operation.name, seen },
    } satisfies ErrorInfo;
  }
}
