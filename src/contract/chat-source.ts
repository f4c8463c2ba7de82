import type { Contract } from './contract.ts';
import { fieldsOf } from './fields.ts';
import { describeJson, isJsonObject, type JsonObject } from './json.ts';
import { findCreated, findResource, layersOf } from './resource.ts';
import { rejectErrorInBody, UnknownShape } from './unknown-shape.ts';

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

/**
 * Decodes the response to setting up API chat, in any common envelope (assumption `chat.source`).
 * @throws UnknownShape if the response has no source_id or reports an error
 */
export function decodeChatSource(body: unknown, contract: Contract): ChatSource {
  const layers = layersOf(body, 'source');
  rejectErrorInBody(body, layers, 'chat.source');
  const source = findResource(layers, 'source', 'source.id', contract);
  if (source === undefined) {
    if (isJsonObject(body)) throw fieldsOf(body, 'source', contract).unreadable('source.id', NO_ID);
    throw new UnknownShape('chat.source', NO_ID, describeJson(body));
  }
  const { fields } = source;
  const replyCapable = fields.value('source.reply_capable');
  return {
    source_id: source.id,
    created: findCreated(layers),
    name: fields.text('source.name'),
    reply_capable: typeof replyCapable === 'boolean' ? replyCapable : undefined,
    routing_mode: fields.text('source.routing_mode'),
    raw: source.object,
  };
}

const NO_ID = 'The response has no source_id.';
