import type { Http } from '../api/http.ts';
import { isJsonObject } from '../contract/json.ts';
import type { SessionRef } from '../contract/messages.ts';
import { parseJsonText } from '../yaml/text.ts';
import { type ChatDirectory, openChatDirectory } from './chat-directory.ts';
import type { ChatContext } from './session.ts';

/** Enough to find a message that became visible after the one at which a tail ended. */
const MAX_IDS = 100;

/**
 * Reads the file of a session: in its first line the base URL of the service, the session, and the last messages that a
 * tail showed, oldest first; in each further line one more of them. The last line may be torn.
 */
function decodePlace(text: string) {
  const [place, ...appended] = text.split('\n').map((line) => {
    const parsed = parseJsonText(line);
    return 'value' in parsed ? parsed.value : undefined;
  });
  if (!isJsonObject(place) || !Array.isArray(place.ids)) return undefined;
  const ref: SessionRef = { source_id: String(place.source_id), session_id: String(place.session_id) };
  const ids = [...place.ids, ...appended].filter((id) => typeof id === 'string').slice(-MAX_IDS);
  return { origin: place.origin, ref, ids };
}

/** The sessions of a service that this machine knows, and where its tails of them ended. */
export type Places = ReturnType<typeof placesIn>;

/** Returns the places in a directory. */
export function placesIn(directory: ChatDirectory) {
  const { origin } = directory;
  /** The files that were written here. A tail appends to one for each message. */
  const written = new Set<string>();
  const nameOf = ({ source_id, session_id }: SessionRef) => `${directory.digest([source_id, session_id], 32)}.json`;

  /** Returns the last ids that a tail of the session showed, oldest first. @throws LocalError if they cannot be read */
  function read(ref: SessionRef): readonly string[] {
    return decodePlace(directory.read(nameOf(ref)))?.ids ?? [];
  }

  /** Returns every session. @throws LocalError if they cannot be read */
  function list(): readonly SessionRef[] {
    const names = directory.names().filter((name) => name.endsWith('.json'));
    return names.toSorted().flatMap((name) => {
      const place = decodePlace(directory.read(name));
      return place?.origin === origin ? [place.ref] : [];
    });
  }

  /** Records that messages were shown. The file is replaced at first, and then appended to, which costs a tenth. */
  async function add(ref: SessionRef, ids: readonly string[]): Promise<void> {
    const name = nameOf(ref);
    if (written.has(name)) return await directory.append(name, ids.map((id) => `${JSON.stringify(id)}\n`).join(''));
    const { source_id, session_id } = ref;
    const place = () => ({ origin, source_id, session_id, ids: [...read(ref), ...ids] });
    await directory.replace(name, () => `${JSON.stringify(place())}\n`);
    written.add(name);
  }

  async function remember(ref: SessionRef): Promise<void> {
    if (!directory.has(nameOf(ref))) await add(ref, []);
  }

  /** Refuses a session before anything is sent to it. @throws InputError if an id contains a secret */
  function check({ source_id, session_id }: SessionRef): void {
    directory.check(JSON.stringify([source_id, session_id]));
  }
  return { read, list, add, remember, check };
}

/** Opens the places of a service. @throws UsageError if the address of the state is invalid */
export function openPlaces(context: ChatContext, http: Http): Places {
  return placesIn(openChatDirectory(context, http));
}
