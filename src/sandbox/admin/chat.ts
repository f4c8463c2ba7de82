import * as v from 'valibot';
import { scriptSchema } from '../agents/reply-script.ts';
import { readBody } from '../request-body.ts';
import { requireSource } from '../routes/lookup.ts';
import type { Service, ServiceApp } from '../service.ts';
import { messageRoleSchema } from '../store/changes.ts';
import { closedObject, messageText, sessionId } from '../validation.ts';

const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** The journal writes messages that are injected together as one line, which must fit into a string. */
const MAX_INJECTED_TEXT = 64 * 1024 * 1024;

const injectionSchema = v.pipe(
  closedObject({
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

/** The script of replies, and messages that are added to a session without an agent. */
export function addChatAdmin(app: ServiceApp, service: Service): void {
  const { store, agents } = service;
  app.get('/script', (c) => c.json({ rules: store.world.script }));
  app.put('/script', async (c) => {
    const { rules } = await readBody(c, closedObject({ rules: scriptSchema }));
    store.commit({ kind: 'script', script: rules });
    return c.json({ rules });
  });
  app.post('/messages', async (c) => {
    const body = await readBody(c, injectionSchema, { maxBytes: MAX_BODY_BYTES });
    const { source_id, session_id, role, text } = body;
    const count = body.count ?? 1;
    const textOf = (number: number): string => (body.count ? text.replaceAll('{n}', String(number)) : text);
    const ids = agents.inject(requireSource(service, source_id), { session_id, role, count }, textOf);
    return c.json({ created: count, ...ids }, 201);
  });
}
