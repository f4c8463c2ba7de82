import type { DocumentedParameter, DocumentedWebhook } from './openapi.ts';
import { objectOf, refTo, text, time } from './schema.ts';

function header(name: string, description: string, required = true): DocumentedParameter {
  return { name, in: 'header', required, description, schema: { type: 'string' } };
}

/** The requests that the service itself makes (spec §6), signed by Standard Webhooks. */
export const WEBHOOKS: Readonly<Record<string, { readonly post: DocumentedWebhook }>> = {
  'message.completed': {
    post: {
      operationId: 'messageCompleted',
      summary: 'An assistant message is complete.',
      description:
        'Sent to each webhook that is configured for the source, at least once, and again after growing pauses until the response is a 2xx. Signed by Standard Webhooks.',
      tags: ['api-chat'],
      security: [],
      parameters: [
        header('webhook-id', 'Identifies the delivery; the same for every attempt.'),
        header('webhook-timestamp', 'When the attempt was made, in seconds since the epoch.'),
        header('webhook-signature', 'One or more signatures, separated by spaces: `v1,` and an HMAC-SHA256 in Base64.'),
      ],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: objectOf({
              type: text('The kind of event.', { enum: ['message.completed'] }),
              timestamp: time('When the message was completed.'),
              data: refTo('Message'),
            }),
          },
        },
      },
      responses: {
        '2XX': { description: 'The receiver has accepted the delivery.' },
        default: { description: 'Any other response, or none: the delivery is retried.' },
      },
    },
  },
};
