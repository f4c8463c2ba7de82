import { rejectErrorInBody, UnknownShape } from './assumptions.ts';
import { findField, findId, findText } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';

/** An API chat source as the service answers it (spec §2, §4.2). */
export interface ChatSource {
  readonly source_id: string;
  /** False when the service says that the source was there before; undefined when it does not say. */
  readonly created: boolean | undefined;
  readonly name: string | undefined;
  readonly reply_capable: boolean | undefined;
  readonly routing_mode: string | undefined;
  /** The source's object, as it came. */
  readonly raw: JsonObject;
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/**
 * Reads the answer to setting up API chat (assumption `chat.source`).
 * @throws UnknownShape when no source_id can be made out, or the answer speaks of a failure
 */
export function readChatSource(body: unknown): ChatSource {
  const top = isJsonObject(body) ? body : {};
  const envelopes = [top, top.data, top.result].filter(isJsonObject);
  rejectErrorInBody(body, envelopes, 'chat.source');
  const places = envelopes.flatMap((place) => [place, place.source, place.api_chat, place.api_chat_source]);
  const objects = places.filter(isJsonObject);
  // An `id` beside a nested source is not the source's own, so the innermost object that has one counts.
  const source =
    objects.find((object) => 'source_id' in object) ?? objects.findLast((object) => findId(object, 'source'));
  const source_id = source && findId(source, 'source');
  if (source === undefined || source_id === undefined) {
    throw new UnknownShape('chat.source', 'No source_id can be made out in the answer.', describeJson(body));
  }
  return {
    source_id,
    created: objects.map(({ created }) => booleanOf(created)).find((created) => created !== undefined),
    name: findText(source, 'source', 'name'),
    reply_capable: booleanOf(findField(source, 'source', 'reply_capable')),
    routing_mode: findText(source, 'source', 'routing_mode'),
    raw: source,
  };
}
