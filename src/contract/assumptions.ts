/**
 * The places where the spec leaves the wire open, each with the name under which the tool speaks of what it assumes.
 * Readers that meet a shape outside an assumption name it in their error.
 */
export const ASSUMPTIONS = {
  'list.envelope':
    'a list is a bare array, or stands under results, data, items or its own name (also one level down), or under the one key that holds an array of objects',
  'list.next':
    'the next page is `next` in the body, or a Link header with rel="next": a path and query of this service',
  'id.field': 'an id stands under its own name or `id`, at the top or one level down under the name of its resource',
  'space.external_id': 'a listed space carries its external_space_id under that name',
  'agent.name': 'a listed agent carries the name that it was installed with',
  'provision.agents': 'the answer to provisioning lists the installed agents, with their names and ids',
  'chat.source':
    'the answer to setting up API chat is the source, at the top or under source, api_chat, data or result',
  'chat.acknowledgement':
    'the acknowledgement of a message carries message_id (and created) at the top or under message, data or result',
  'history.query': 'history is read by GET with the query source_id, session_id and after_message_id',
  'history.messages':
    'history is a list of the messages after the cursor, each with its message_id; all of them without a cursor',
  'message.author':
    'the author stands under role, author, sender, sender_type or direction; assistant, agent, bot, ai and outbound mean a reply',
  'message.text': 'the text stands under text, content, body or message, as text or as a list of parts that hold text',
  'message.created_at': 'the moment of a message stands under created_at, timestamp or sent_at',
  'cron.list': 'scheduled jobs are listed by GET on the creation path',
  'cron.fields':
    'a job carries its id as cron_job_id or id, agent_id (or agent with its id), name, instructions, and a schedule as it was sent, as plain fields, or as a text of five cron fields',
  'upload.multipart':
    'documents and file attachments are created by POST with a multipart body that holds the file in the field `file`',
} as const;

export type AssumptionName = keyof typeof ASSUMPTIONS;

/** An answer that no assumption covers. The caller turns it into an error for people. */
export class UnknownShape extends Error {
  readonly assumption: AssumptionName;
  /** What came instead, in words. */
  readonly seen: string;

  constructor(assumption: AssumptionName, message: string, seen: string) {
    super(message);
    this.assumption = assumption;
    this.seen = seen;
  }
}

/** An answer whose body says that the call failed, though its status does not. */
export class SaidFailed extends UnknownShape {
  constructor(assumption: AssumptionName, seen: string) {
    super(assumption, 'The answer says that the call failed, though its status does not.', seen);
  }
}
