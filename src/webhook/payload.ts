import { isUtf8 } from 'node:buffer';
import { layersOf } from '../contract/body.ts';
import type { Contract } from '../contract/contract.ts';
import { Fields } from '../contract/fields.ts';
import { type JsonObject, jsonOrText } from '../contract/json.ts';
import { type Message, readMessage } from '../contract/messages.ts';

interface DeliveredMessage extends Message {
  readonly session_id: string | null;
  readonly source_id: string | null;
}

export interface Payload {
  /** The JSON value; the text if it is not JSON; `{"base64": …}` if it is not UTF-8. */
  readonly body: unknown;
  /** Undefined if the contract recognizes no message. */
  readonly message: DeliveredMessage | undefined;
}

/** @throws UnknownShape for values that contradict each other @returns undefined for another kind of event */
function readDelivered(layer: JsonObject, layers: readonly JsonObject[], contract: Contract) {
  const message = readMessage(layer, contract);
  // Other events may have an id and a text, too. A message also has an author, or an id named after messages.
  const isMessage =
    ['assistant', 'user'].includes(message.role) || new Fields(layer, 'message', contract).ownId('message.id');
  if (!isMessage) return undefined;
  const idIn = (leaf: 'message.session_id' | 'message.source_id') =>
    [layer, ...layers].map((each) => new Fields(each, 'message', contract).id(leaf)).find(Boolean) ?? null;
  return { ...message, session_id: idIn('message.session_id'), source_id: idIn('message.source_id') };
}

/** Finds a message in a JSON value: the value itself, or inside an envelope such as `{type, data: {…}}`. */
function findMessage(value: unknown, contract: Contract): DeliveredMessage | undefined {
  // Innermost first: the id of an envelope identifies the event, not the message.
  const layers = layersOf(value, 'message').toReversed();
  for (const layer of layers) {
    try {
      const message = readDelivered(layer, layers, contract);
      if (message) return message;
    } catch {}
  }
  return undefined;
}

/** Decodes the body of a delivery. Never throws: a body may be anything. */
export function readPayload(body: Buffer, contract: Contract): Payload {
  if (!isUtf8(body)) return { body: { base64: body.toString('base64') }, message: undefined };
  const value = jsonOrText(body.toString('utf8'));
  return { body: value, message: findMessage(value, contract) };
}
