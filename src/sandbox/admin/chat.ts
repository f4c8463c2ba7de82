import * as v from 'valibot';
import { readBody } from '../body.ts';
import { scriptSchema } from '../chat/script.ts';
import { sourceAt } from '../chat/source.ts';
import type { Service } from '../service.ts';
import { closed, messageText, sessionId } from '../shapes.ts';
import { messageRoleSchema } from '../store/messages.ts';
import { issueChatToken, newChatTokenSchema, publicToken } from '../tokens.ts';
import type { AdminRoute } from './route.ts';

const MAX_INJECTED_BYTES = 2 * 1024 * 1024;

/** The journal holds what came at once in one line, and a line has to fit into a string. */
const MAX_INJECTED_TEXT = 64 * 1024 * 1024;

const injectionSchema = v.pipe(
  closed({
    source_id: v.string(),
    session_id: sessionId(),
    role: messageRoleSchema,
    /** With a `count`, `{n}` stands for the message's number. */
    text: messageText(),
    count: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(200_000))),
  }),
  v.check(
    ({ text, count = 1 }) => text.length * count <= MAX_INJECTED_TEXT,
    'must have at most 64 Mi characters in all',
  ),
);

/** API chat tokens, how agents answer, and messages put straight into a session. */
export function chatAdmin(service: Service): AdminRoute[] {
  return [
    {
      method: 'POST',
      path: '/chat-tokens',
      handle: async (c) => {
        const wanted = await readBody(c, newChatTokenSchema);
        sourceAt(service, wanted.source_id);
        const { record, secret } = issueChatToken(service, wanted);
        return c.json({ ...publicToken(record), token: secret }, 201);
      },
    },
    { method: 'GET', path: '/script', handle: (c) => c.json({ rules: service.store.world.script }) },
    {
      method: 'PUT',
      path: '/script',
      handle: async (c) => {
        const { rules } = await readBody(c, closed({ rules: scriptSchema }));
        service.store.commit({ kind: 'script', script: rules });
        return c.json({ rules });
      },
    },
    {
      method: 'POST',
      path: '/messages',
      handle: async (c) => {
        const { source_id, count, text, ...where } = await readBody(c, injectionSchema, {
          maxBytes: MAX_INJECTED_BYTES,
        });
        const textAt = (number: number): string => (count ? text.replaceAll('{n}', String(number)) : text);
        const ends = service.runner.inject(sourceAt(service, source_id), where, count ?? 1, textAt);
        const first_message_id = ends.at(0)?.message_id;
        const last_message_id = ends.at(-1)?.message_id;
        return c.json({ created: count ?? 1, first_message_id, last_message_id }, 201);
      },
    },
  ];
}
