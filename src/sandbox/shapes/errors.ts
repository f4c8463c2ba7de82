import { listOf, objectOf, type Schema } from '../contract/schema.ts';
import type { FieldProblem } from '../problem.ts';
import type { Json } from './json.ts';

/** An error of the service, in no dialect. */
export interface ErrorDetails {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly request_id: string;
  readonly fields: readonly FieldProblem[];
}

/** A format of error bodies. */
export type ErrorStyle = keyof typeof ERROR_STYLES;

interface ErrorFormat {
  readonly body: (error: ErrorDetails) => Json;
  readonly schema: Schema;
  readonly mediaType?: string;
}

const STRING: Schema = { type: 'string' };
const INTEGER: Schema = { type: 'integer' };
const MESSAGES_BY_FIELD: Schema = { type: 'object', additionalProperties: listOf(STRING) };

function messagesByField(fields: readonly FieldProblem[]): Record<string, string[]> {
  return Object.fromEntries(fields.map(({ path, message }) => [path === '' ? 'body' : path, [message]]));
}

function upperCode(code: string): string {
  return code.toUpperCase();
}

/** The error of the plain shape. */
const OWN: ErrorFormat = {
  body: ({ code, message, request_id, fields }) => ({
    error: {
      code,
      message,
      request_id,
      ...(fields.length > 0 && { fields: fields.map(({ path, message }) => ({ path, message })) }),
    },
  }),
  schema: objectOf({
    error: objectOf({
      code: { ...STRING, description: 'What is wrong, for programs.' },
      message: { ...STRING, description: 'What is wrong, for people.' },
      request_id: { ...STRING, description: 'The request, also in X-Request-Id.' },
      'fields?': listOf(objectOf({ path: STRING, message: STRING }), { description: 'Every wrong field of a 422.' }),
    }),
  }),
};

const ERROR_STYLES = {
  own: OWN,
  /** RFC 9457. */
  problem: {
    body: ({ status, code, message, request_id, fields }) => ({
      type: `urn:problem:${code}`,
      title: code.replaceAll('_', ' '),
      status,
      detail: message,
      instance: `urn:request:${request_id}`,
      ...(fields.length > 0 && { errors: fields.map(({ path, message }) => ({ pointer: path, detail: message })) }),
    }),
    schema: objectOf({
      type: STRING,
      title: STRING,
      status: INTEGER,
      detail: STRING,
      instance: STRING,
      'errors?': listOf(objectOf({ pointer: STRING, detail: STRING })),
    }),
    mediaType: 'application/problem+json',
  },
  /** RFC 6749, 5.2. */
  oauth: {
    body: ({ code, message }) => ({ error: code, error_description: message }),
    schema: objectOf({ error: STRING, error_description: STRING }),
  },
  fault: {
    body: ({ code, message }) => ({ fault: { faultstring: message, detail: { errorcode: code } } }),
    schema: objectOf({ fault: objectOf({ faultstring: STRING, detail: objectOf({ errorcode: STRING }) }) }),
  },
  messages: {
    body: ({ status, code, message, fields }) => ({
      statusCode: status,
      error: code,
      message: fields.length > 0 ? fields.map(({ path, message }) => `${path} ${message}`.trim()) : [message],
    }),
    schema: objectOf({ statusCode: INTEGER, error: STRING, message: listOf(STRING) }),
  },
  detail: {
    body: ({ code, message, fields }) => (fields.length > 0 ? messagesByField(fields) : { detail: message, code }),
    schema: { anyOf: [objectOf({ detail: STRING, code: STRING }), MESSAGES_BY_FIELD] },
  },
  json_api: {
    body: ({ status, code, message, fields }) => ({
      errors:
        fields.length > 0
          ? fields.map(({ path, message }) => ({
              status: String(status),
              code,
              title: `${path} ${message}`.trim(),
              source: { pointer: `/${path.replaceAll('.', '/')}` },
            }))
          : [{ status: String(status), code, title: message }],
    }),
    schema: objectOf({
      errors: listOf(
        objectOf({ status: STRING, code: STRING, title: STRING, 'source?': objectOf({ pointer: STRING }) }),
      ),
    }),
    mediaType: 'application/vnd.api+json',
  },
  graphql: {
    body: ({ code, message }) => ({
      data: null,
      errors: [{ message, path: [], extensions: { code: upperCode(code) } }],
    }),
    schema: objectOf({
      data: { type: 'null' },
      errors: listOf(objectOf({ message: STRING, path: listOf(STRING), extensions: objectOf({ code: STRING }) })),
    }),
  },
  success_flag: {
    body: ({ code, message }) => ({ success: false, error: { code, message } }),
    schema: objectOf({
      success: { type: 'boolean', enum: [false] },
      error: objectOf({ code: STRING, message: STRING }),
    }),
  },
  ok_flag: {
    body: ({ code }) => ({ ok: false, error: code }),
    schema: objectOf({ ok: { type: 'boolean', enum: [false] }, error: STRING }),
  },
  google: {
    body: ({ status, code, message }) => ({ error: { code: status, message, status: upperCode(code) } }),
    schema: objectOf({ error: objectOf({ code: INTEGER, message: STRING, status: STRING }) }),
  },
  aws: {
    body: ({ code, message }) => ({ __type: code, Message: message }),
    schema: objectOf({ __type: STRING, Message: STRING }),
  },
  odata: {
    body: ({ code, message, fields }) => ({
      error: { code, message, details: fields.map(({ path, message }) => ({ code, target: path, message })) },
    }),
    schema: objectOf({
      error: objectOf({
        code: STRING,
        message: STRING,
        details: listOf(objectOf({ code: STRING, target: STRING, message: STRING })),
      }),
    }),
  },
  salesforce: {
    body: ({ code, message }) => [{ errorCode: upperCode(code), message }],
    schema: listOf(objectOf({ errorCode: STRING, message: STRING })),
  },
  spring: {
    body: ({ status, message, request_id, code }) => ({
      status,
      error: code,
      message,
      path: `/requests/${request_id}`,
    }),
    schema: objectOf({ status: INTEGER, error: STRING, message: STRING, path: STRING }),
  },
  laravel: {
    body: ({ message, fields }) => ({ message, ...(fields.length > 0 && { errors: messagesByField(fields) }) }),
    schema: objectOf({ message: STRING, 'errors?': MESSAGES_BY_FIELD }),
  },
  stripe: {
    body: ({ code, message, fields }) => ({
      error: { type: 'invalid_request_error', code, message, ...(fields[0] && { param: fields[0].path }) },
    }),
    schema: objectOf({ error: objectOf({ type: STRING, code: STRING, message: STRING, 'param?': STRING }) }),
  },
  atlassian: {
    body: ({ message, fields }) => ({
      errorMessages: fields.length > 0 ? [] : [message],
      errors: Object.fromEntries(fields.map(({ path, message }) => [path, message])),
    }),
    schema: objectOf({
      errorMessages: listOf(STRING),
      errors: { type: 'object', additionalProperties: STRING },
    }),
  },
} as const satisfies Record<string, ErrorFormat>;

/** Returns how a style writes errors, with the schema. */
export function errorFormat(style: ErrorStyle): ErrorFormat {
  return ERROR_STYLES[style];
}
