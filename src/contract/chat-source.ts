import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { findField, findId, findText } from './plain-fields.ts';

/** An API chat source (spec §2, §4.2). */
export interface ChatSource {
  readonly source_id: string;
  /** False if the source existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
  readonly name: string | undefined;
  readonly reply_capable: boolean | undefined;
  readonly routing_mode: string | undefined;
  /** The source's object as the service sent it. */
  readonly raw: JsonObject;
}

function asBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/**
 * Decodes the response to setting up API chat (assumption `chat.source`).
 * @throws UnknownShape if the response has no source_id or reports an error
 */
export function decodeChatSource(body: unknown): ChatSource {
  const top = isJsonObject(body) ? body : {};
  const envelopes = [top, top.data, top.result].filter(isJsonObject);
  rejectErrorInBody(body, envelopes, 'chat.source');
  const objects = envelopes
    .flatMap((envelope) => [envelope, envelope.source, envelope.api_chat, envelope.api_chat_source])
    .filter(isJsonObject);
  // An `id` next to a nested source is not the source's, so the innermost object with an id wins.
  const source =
    objects.find((object) => 'source_id' in object) ?? objects.findLast((object) => findId(object, 'source'));
  const source_id = source && findId(source, 'source');
  if (source === undefined || source_id === undefined) {
    throw new UnknownShape('chat.source', 'The response has no source_id.', describeJson(body));
  }
  return {
    source_id,
    created: objects.map(({ created }) => asBoolean(created)).find((created) => created !== undefined),
    name: findText(source, 'source', 'name'),
    reply_capable: asBoolean(findField(source, 'source', 'reply_capable')),
    routing_mode: findText(source, 'source', 'routing_mode'),
    raw: source,
  };
}
