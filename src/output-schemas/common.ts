import type { JsonSchema } from '../output/output-schema.ts';

/** An id as the service sent it. */
export const ID: JsonSchema = { type: ['string', 'integer'] };

/** A field of the service that is text as far as is known. */
export const SERVICE_TEXT: JsonSchema = { type: ['string', 'null'] };
