import * as v from 'valibot';
import { ensureChatSource } from '../agents/chat-source.ts';
import { checkSource, requireScope } from '../auth.ts';
import { HISTORY_PATH } from '../faults.ts';
import { readBody } from '../request-body.ts';
import type { Service, ServiceApp } from '../service.ts';
import { routingModeSchema } from '../store/changes.ts';
import { closedObject, messageText, nonBlankText, sessionId } from '../validation.ts';
import { historyPage } from './chat-history.ts';
import { requireAgent, requireSource, requireSpace } from './lookup.ts';

/** Room for a text of 1 MiB and as much again for JSON's escapes. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;

/** The body of spec §4.2. The spec leaves open what is required: here every field is optional. */
const setupSchema = closedObject({
  name: v.optional(nonBlankText(255)),
  reply_capable: v.optional(v.boolean()),
  routing_mode: v.optional(routingModeSchema),
});

/** The body of spec §4.3. The spec leaves open what is required: here `response_mode` is optional. */
const messageSchema = closedObject({
  source_id: v.string(),
  session_id: sessionId(),
  text: messageText(),
  external_message_id: nonBlankText(255),
  response_mode: v.optional(v.literal('accepted', 'must be accepted'), 'accepted'),
});

/**
 * API chat: setting up a source, sending a message, and reading the history (spec §4.2 to §4.4, endpoints 4 to 6). A new
 * source or message is 201; an existing one is 200 and stays unchanged.
 */
export function addChatRoutes(app: ServiceApp, service: Service): void {
  const setupPath = '/automation/spaces/:space_id/agents/:agent_id/api-chat/';
  app.post(setupPath, requireScope('api_chat.setup'), async (c) => {
    const input = await readBody(c, setupSchema);
    const { space_id } = requireSpace(service, c.req.param('space_id'));
    const agent = requireAgent(service, c.req.param('agent_id'), space_id);
    const { source, created } = ensureChatSource(service, agent, input);
    return c.json({ ...source, space_id, created }, created ? 201 : 200);
  });
  app.post('/integrations/api-chat/message/', requireScope('api_chat.runtime'), async (c) => {
    const input = await readBody(c, messageSchema, { maxBytes: MAX_MESSAGE_BYTES });
    checkSource(c.get('token'), input.source_id);
    const { message, created } = service.agents.receive(requireSource(service, input.source_id), input);
    return c.json({ message_id: message.message_id, created }, created ? 201 : 200);
  });
  app.get(HISTORY_PATH, requireScope('api_chat.runtime'), (c) => c.json(historyPage(service, c)));
}
