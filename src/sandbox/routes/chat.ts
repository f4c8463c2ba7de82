import * as v from 'valibot';
import { ensureChatSource } from '../agents/chat-source.ts';
import { checkSource } from '../auth.ts';
import { HISTORY_PATH } from '../faults.ts';
import { readBody } from '../request-body.ts';
import type { Route, Service, ServiceContext } from '../service.ts';
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

/** 201 for a new source; 200 for an existing one, which is left unchanged. */
async function setUpSource(service: Service, c: ServiceContext): Promise<Response> {
  const wanted = await readBody(c, setupSchema);
  const space = requireSpace(service, c.req.param('space_id') ?? '');
  const agent = requireAgent(service, c.req.param('agent_id') ?? '', space);
  const { source, created } = ensureChatSource(service, agent, wanted);
  const { source_id, name, reply_capable, routing_mode, agent_id, created_at } = source;
  const { space_id } = agent;
  return c.json(
    { source_id, name, reply_capable, routing_mode, agent_id, space_id, created_at, created },
    created ? 201 : 200,
  );
}

/** 201 for a new message; 200 when its external id was already used in the session. The text is stored unchanged. */
async function registerMessage(service: Service, c: ServiceContext): Promise<Response> {
  const wanted = await readBody(c, messageSchema, { maxBytes: MAX_MESSAGE_BYTES });
  checkSource(c.get('token'), wanted.source_id);
  const { message, created } = service.agents.receive(requireSource(service, wanted.source_id), wanted);
  return c.json({ message_id: message.message_id, created }, created ? 201 : 200);
}

/** API chat: setting up a source, sending a message, and reading the history (spec §4.2 to §4.4, endpoints 4 to 6). */
export function chatRoutes(service: Service): Route[] {
  return [
    {
      method: 'POST',
      path: '/automation/spaces/:space_id/agents/:agent_id/api-chat/',
      scope: 'api_chat.setup',
      handle: (c) => setUpSource(service, c),
    },
    {
      method: 'POST',
      path: '/integrations/api-chat/message/',
      scope: 'api_chat.runtime',
      handle: (c) => registerMessage(service, c),
    },
    {
      method: 'GET',
      path: HISTORY_PATH,
      scope: 'api_chat.runtime',
      handle: (c) => c.json(historyPage(service, c)),
    },
  ];
}
