import * as v from 'valibot';
import { readBody } from '../body.ts';
import { sourceAt } from '../chat/source.ts';
import { checkSource } from '../gate.ts';
import type { Route, Service } from '../service.ts';
import { closed, filledText, messageText, sessionId } from '../shapes.ts';

/** Room for a text of 1 MiB with as much again for JSON's escapes. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;

/** The body of spec §4.3. What the spec leaves open: `response_mode` may be left out. */
const bodySchema = closed({
  source_id: v.string(),
  session_id: sessionId(),
  text: messageText(),
  external_message_id: filledText(255),
  response_mode: v.optional(v.literal('accepted', 'must be accepted'), 'accepted'),
});

/**
 * POST /integrations/api-chat/message/ (spec §4.3, endpoint 5): 201 when the message is new, 200 when its external id was
 * used in the session before. The text is kept as it came, to the last character.
 */
export function chatMessageRoutes(service: Service): Route[] {
  return [
    {
      method: 'POST',
      path: '/integrations/api-chat/message/',
      scope: 'api_chat.runtime',
      handle: async (c) => {
        const wanted = await readBody(c, bodySchema, { maxBytes: MAX_MESSAGE_BYTES });
        checkSource(c.get('token'), wanted.source_id);
        const { message, created } = service.runner.receive(sourceAt(service, wanted.source_id), wanted);
        return c.json({ message_id: message.message_id, created }, created ? 201 : 200);
      },
    },
  ];
}
