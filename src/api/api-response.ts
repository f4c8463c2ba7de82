import { isUtf8 } from 'node:buffer';
import type { Contract } from '../contract/contract.ts';
import { parseJson } from '../contract/json.ts';
import type { Operation } from '../contract/operations.ts';
import { bodyOfLocation } from '../contract/resource.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import type { CallFacts } from './call-errors.ts';
import { bodyError, itemError, NotUtf8, shapeError } from './shape-errors.ts';
import type { HttpResponse } from './transport.ts';

/** The response to a successful call, with methods that read its body. */
export class ApiResponse {
  readonly call: CallFacts;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
  /** The undecoded body. */
  readonly bytes: Uint8Array;
  private readonly body: string;
  private parsed: { readonly value: unknown } | undefined;

  constructor({ status, headers, body, bytes }: HttpResponse, call: CallFacts, requestId: string) {
    this.call = call;
    this.status = status;
    this.headers = headers;
    this.requestId = headers['x-request-id'] ?? requestId;
    this.bytes = bytes;
    this.body = body;
    const isWithoutBody = /^\s*(?:null|\{\s*\}|"")?\s*$/.test(body);
    const { leaf } = call.operation;
    const value = isWithoutBody && leaf ? bodyOfLocation(headers.location, leaf, call.url) : undefined;
    if (value) this.parsed = { value };
  }

  /** Path and query of the request. */
  get path(): string {
    const { pathname, search } = new URL(this.call.url);
    return pathname + search;
  }

  /** The number of attempts, including this one; all earlier attempts failed. */
  get attempts(): number {
    return this.call.attempts;
  }

  /**
   * Returns the body as JSON.
   * @throws ShapeError if the body is not JSON in UTF-8, or exceeds the limits of `parseJson`; for a `once` call,
   *   OutcomeUnknownError with the ShapeError as its cause
   */
  json(): unknown {
    this.parsed ??= { value: this.parse() };
    return this.parsed.value;
  }

  /**
   * Runs a reader from `contract` on the body.
   * @throws as `json`, and converts the reader's UnknownShape the same way
   */
  read<Value>(reader: (body: unknown, contract: Contract) => Value): Value {
    const value = this.json();
    try {
      return reader(value, this.call.contract);
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      throw shapeError(error, { value, text: this.call.redact(this.body) }, this);
    }
  }

  private parse(): unknown {
    // What the response says may end up in the state, which people share.
    const text = this.call.redact(this.body);
    try {
      if (!isUtf8(this.bytes)) throw new NotUtf8();
      return parseJson(text);
    } catch (error) {
      throw bodyError(error, text, this);
    }
  }
}

/**
 * Runs a reader from `contract` on items of a list.
 * @throws ShapeError in place of the reader's UnknownShape
 */
export function readItem<Value>(operation: Operation, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof UnknownShape ? itemError(error, operation) : error;
  }
}
