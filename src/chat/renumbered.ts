/** What of a message stays the same when a service gives it another id. */
export interface Told {
  readonly message_id: string;
  readonly role: string;
  readonly text: string | null;
}

interface Seen {
  readonly ids: ReadonlySet<string>;
  readonly contents: string;
}

/** What an answer shows: nothing odd; what the one before told, under other ids, so that the same is to be asked once more; or that the ids are new in every answer. */
export type Finding = 'fine' | 'ask again' | 'renumbered';

function sharesId(one: Seen, other: Seen): boolean {
  return [...one.ids].some((id) => other.ids.has(id));
}

/**
 * Finds out whether a service gives its messages new ids in every answer. Two answers that tell the same under different
 * ids may be two pages, for people repeat themselves; the same question asked twice must bring the same ids.
 */
export class Renumbered {
  private last: Seen | undefined;
  private suspect: Seen | undefined;
  /** Set when a question that was asked twice brought an id again. */
  private isCleared = false;

  /** Takes in an answer that a question of ours brought, and no link. */
  look(messages: readonly Told[]): Finding {
    if (this.isCleared || messages.length === 0) return 'fine';
    const { last, suspect } = this;
    const contents = JSON.stringify(messages.map(({ role, text }) => [role, text]));
    const answer: Seen = { ids: new Set(messages.map(({ message_id }) => message_id)), contents };
    const repeats = last !== undefined && last.contents === contents && !sharesId(last, answer);
    if (suspect) {
      if (repeats && !sharesId(suspect, answer)) return 'renumbered';
      this.isCleared = true;
      this.last = undefined;
      this.suspect = undefined;
      return 'fine';
    }
    if (repeats) this.suspect = answer;
    else this.last = answer;
    return repeats ? 'ask again' : 'fine';
  }
}
