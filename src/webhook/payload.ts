import { isUtf8 } from 'node:buffer';
import type { Contract } from '../contract/contract.ts';
import { fieldsOf } from '../contract/fields.ts';
import { isJsonObject, type JsonObject, parseJson } from '../contract/json.ts';
import { type Message, readMessage } from '../contract/messages.ts';
import { layersOf } from '../contract/resource.ts';

/** The message of a delivery. */
interface DeliveredMessage extends Message {
  readonly session_id: string | null;
  readonly source_id: string | null;
}

/** The decoded body of a delivery. */
export interface Payload {
  /** The JSON value; the text if it is not JSON; `{"base64": …}` if it is not UTF-8. */
  readonly body: unknown;
  /** Undefined if the contract recognizes no message. */
  readonly message: DeliveredMessage | undefined;
}

function findConsistentId(
  places: readonly JsonObject[],
  leaf: 'message.session_id' | 'message.source_id',
  contract: Contract,
) {
  for (const place of places) {
    try {
      const found = fieldsOf(place, 'message', contract).id(leaf);
      if (found !== undefined) return found;
    } catch {
      // The ids at this place contradict each other.
    }
  }
  return null;
}

/** Other events may have an id and a text, too. A message also has an author, or an id named after messages. */
function decodeLayer(layer: JsonObject, contract: Contract): Message | undefined {
  try {
    const message = readMessage(layer, contract);
    const isMessage = ['assistant', 'user'].includes(message.role);
    return isMessage || fieldsOf(layer, 'message', contract).ownId('message.id') !== undefined ? message : undefined;
  } catch {
    return undefined;
  }
}

/** Finds a message in a JSON value: the value itself, or inside an envelope such as `{type, data: {…}}`. */
function findMessage(value: unknown, contract: Contract): DeliveredMessage | undefined {
  const layers = layersOf(value, 'message');
  // Innermost first: the id of an envelope identifies the event, not the message.
  const inner = layers.toReversed();
  for (const layer of inner) {
    const message = decodeLayer(layer, contract);
    if (!message) continue;
    const places = [layer, ...inner.filter((other) => other !== layer)];
    return {
      ...message,
      session_id: findConsistentId(places, 'message.session_id', contract),
      source_id: findConsistentId(places, 'message.source_id', contract),
    };
  }
  return undefined;
}

/** Decodes the body of a delivery. Never throws: a body may be anything. */
export function readPayload(body: Buffer, contract: Contract): Payload {
  if (!isUtf8(body)) return { body: { base64: body.toString('base64') }, message: undefined };
  const text = body.toString('utf8');
  try {
    const value = parseJson(text);
    const message = isJsonObject(value) || Array.isArray(value) ? findMessage(value, contract) : undefined;
    return { body: value, message };
  } catch {
    return { body: text, message: undefined };
  }
}
