import type { Contract } from './contract.ts';
import type { Fields } from './fields.ts';
import type { JsonObject } from './json.ts';
import { readCreated } from './resource.ts';

/** The settings of an API chat source (spec §2). What the service does not show is undefined. */
export interface SourceSettings {
  readonly name: string | undefined;
  readonly reply_capable: boolean | undefined;
  readonly routing_mode: string | undefined;
}

/** An API chat source (spec §2, §4.2). */
export interface ChatSource extends SourceSettings {
  readonly source_id: string;
  /** False if the source existed before; undefined if the service does not say. */
  readonly created: boolean | undefined;
  /** The source's object as the service sent it. */
  readonly raw: JsonObject;
}

/** Reads the settings of a source. @throws UnknownShape for a name or a mode that is not a text */
export function readSettings(fields: Fields): SourceSettings {
  const replyCapable = fields.value('source.reply_capable');
  return {
    name: fields.text('source.name'),
    reply_capable: typeof replyCapable === 'boolean' ? replyCapable : undefined,
    routing_mode: fields.text('source.routing_mode'),
  };
}

/** Reads the response to setting up API chat. @throws UnknownShape as `readCreated` and `readSettings` */
export function readChatSource(body: unknown, contract: Contract): ChatSource {
  const { id, created, fields, object } = readCreated(body, 'source', contract);
  return { source_id: id, created, ...readSettings(fields), raw: object };
}
