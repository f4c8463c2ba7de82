import { isUtf8 } from 'node:buffer';
import type { Contract } from '../contract/contract.ts';
import { parseJson } from '../contract/json.ts';
import { bodyOfLocation } from '../contract/resource.ts';
import { UnknownShape } from '../contract/unknown-shape.ts';
import type { CallFacts } from './call-errors.ts';
import { bodyError, shapeError } from './shape-errors.ts';
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

  /**
   * Returns the body as JSON.
   * @throws ShapeError if it is not JSON in UTF-8, or beyond the limits; for a `once` call, OutcomeUnknownError by that
   */
  json(): unknown {
    this.parsed ??= { value: this.parse() };
    return this.parsed.value;
  }

  /** Runs a reader from `contract` on the body. @throws as `json`, also for the reader's UnknownShape */
  read<Value>(reader: (body: unknown, contract: Contract) => Value): Value {
    const value = this.json();
    try {
      return reader(value, this.call.contract);
    } catch (error) {
      if (!(error instanceof UnknownShape)) throw error;
      throw shapeError(error, { value, text: this.text }, this);
    }
  }

  /** The body without secrets: what it says may end up in the state, which people share. */
  private get text(): string {
    return this.call.redact(this.body);
  }

  private parse(): unknown {
    try {
      // Names in other encodings cannot be compared.
      if (!isUtf8(this.bytes)) throw new Error('The body is not UTF-8.');
      return parseJson(this.text);
    } catch (error) {
      throw bodyError(error, this.text, this);
    }
  }
}
