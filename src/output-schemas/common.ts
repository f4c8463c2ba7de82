import { ANYTHING, type JsonSchema, nullable, object, oneOf, STRING } from '../output/output-schema.ts';

/** An id as the service sent it: an object for MongoDB. */
export const SERVICE_ID: JsonSchema = { type: ['string', 'integer', 'object'] };

export const NULLABLE_TEXT: JsonSchema = nullable(STRING);

/** The error of an item, in the form of a command's error on stderr. */
export const ERROR: JsonSchema = object({
  type: STRING,
  message: STRING,
  status: nullable({ type: 'integer' }),
  code: NULLABLE_TEXT,
  request_id: NULLABLE_TEXT,
  hint: NULLABLE_TEXT,
  retry_at: NULLABLE_TEXT,
  details: ANYTHING,
});

/** A schedule in the form of the service. */
export const SCHEDULE: JsonSchema = object({
  type: oneOf('cron'),
  data: object({ minute: STRING, hour: STRING, day_of_week: STRING }),
  timezone: STRING,
});
