import { sendMessage } from '../api/chat.ts';
import type { Http } from '../api/http.ts';
import type { Clock } from '../clock.ts';
import type { Message } from '../contract/messages.ts';
import { EXIT, InterruptedError, PartnerctlError, toErrorObject, withHint } from '../errors.ts';
import type { PromptLine } from '../output/prompt-line.ts';
import { sanitizeText } from '../output/sanitize.ts';
import { ENTRY_HELP, type Entry, readEntry } from './entry.ts';
import { follow } from './follow.ts';
import { noticeText } from './notice.ts';
import type { FollowEvent, Follower } from './terms.ts';

export interface ConversationParts {
  readonly http: Http;
  readonly clock: Clock;
  readonly random: () => number;
  readonly interrupt: AbortSignal;
  /** A fresh external_message_id. */
  readonly newId: () => string;
  readonly prompt: PromptLine;
  /** The command that sends a message again under its external id. */
  readonly repeatLine: (sessionId: string, message: Sent) => string;
  /** A message as the lines that a person reads. */
  readonly show: (message: Message) => Promise<string>;
}

/** How many earlier messages a conversation begins with. */
const EARLIER = 10;
const READY = '› ';
const AWAITING = '… ';

export interface Sent {
  readonly external_message_id: string;
  readonly text: string;
}

function reason(error: unknown): string {
  const { message } = toErrorObject(error);
  const why = error instanceof PartnerctlError ? error.info.why : undefined;
  return why === undefined ? message : `${message} ${why.replaceAll('\n', '; ')}`;
}

/** One conversation at a prompt: what is typed is sent, and what comes is shown above the line. */
export class Conversation {
  private readonly parts: ConversationParts;
  private readonly sourceId: string;
  private sessionId: string;
  private follower: Follower | undefined;
  private leaving = new AbortController();
  private last: Sent | undefined;
  /** The messages that were typed here: they stand on the screen already. */
  private readonly own = new Set<string>();
  private awaiting = false;
  /** Whether a reply came since the last message was entered: none is expected to that message sent again. */
  private hasReply = false;
  private lost = false;
  private sending: Promise<void> = Promise.resolve();
  /** What is being sent, or waits for its turn, with the commands that send it again. */
  private readonly underWay = new Map<Sent, string>();
  private hasLeft = false;
  private failure: { readonly error: unknown } | undefined;

  constructor(parts: ConversationParts, sourceId: string, sessionId: string) {
    this.parts = parts;
    this.sourceId = sourceId;
    this.sessionId = sessionId;
  }

  /**
   * Talks until the person leaves.
   * @throws PartnerctlError when it cannot go on (credentials, balance), or when the person has left and something is
   * not sent
   */
  async run(): Promise<void> {
    const { prompt, interrupt } = this.parts;
    const close = (): void => prompt.close();
    interrupt.addEventListener('abort', close, { once: true });
    let following = this.followSession();
    try {
      for await (const text of prompt.entries) {
        const entry = readEntry(text);
        if (entry.kind === 'quit') break;
        if (entry.kind === 'session' && entry.session !== undefined) {
          this.leaving.abort();
          await following;
          this.sessionId = entry.session;
          following = this.followSession();
        }
        this.answer(entry);
      }
      this.hasLeft = true;
      await this.finishSending();
    } finally {
      this.leaving.abort();
      prompt.close();
      interrupt.removeEventListener('abort', close);
      await following;
    }
    if (this.failure) throw this.failure.error;
    const { reason: ending } = interrupt;
    // Ctrl-C is a way to leave.
    if (ending instanceof InterruptedError && ending.exitCode !== EXIT.interrupted) throw ending;
  }

  /** Waits for what is still being sent, for as long as the person does. */
  private async finishSending(): Promise<void> {
    const { size } = this.underWay;
    if (size === 0) return;
    const what = size === 1 ? 'a message is' : `${size} messages are`;
    this.say(`Waiting until ${what} registered. Ctrl-C or Ctrl-D once more leaves at once.`);
    const leaving = this.parts.prompt.leavingAgain().then(() => {
      if (this.underWay.size > 0) this.failure ??= { error: this.unsent(new InterruptedError('Left at once.')) };
    });
    await Promise.race([this.sending, leaving]);
  }

  /** The failure with what may not have been sent, and how to send it without doubling it. */
  private unsent(error: PartnerctlError): PartnerctlError {
    const ids = [...this.underWay.keys()].map(({ external_message_id }) => external_message_id);
    const lines = [...this.underWay.values()].join('\n');
    return withHint(error, {
      hint: `Of these it is not known whether they are registered. To send them without doubling them:\n${lines}`,
      details: { source_id: this.sourceId, external_message_ids: ids },
    });
  }

  private answer(entry: Entry): void {
    switch (entry.kind) {
      case 'message':
        this.hasReply = false;
        this.send({ external_message_id: this.parts.newId(), text: entry.text });
        break;
      case 'resend':
        if (this.last) this.send(this.last);
        else this.say('There is nothing to send again.');
        break;
      case 'help':
        this.say(ENTRY_HELP);
        break;
      case 'info':
        this.say(this.info());
        break;
      case 'session':
        this.say(`session ${this.sessionId}`);
        break;
      case 'unknown':
        this.say(`There is no /${entry.word}. /help shows what there is.`);
        break;
      default:
    }
  }

  /** Words about the conversation, which may quote a service: cleaned of what a terminal acts upon. */
  private say(text: string): void {
    this.parts.prompt.above(sanitizeText(text));
  }

  private info(): string {
    const lines = [`source  ${this.sourceId}`, `session ${this.sessionId}`, `line    ${this.lost ? 'lost' : 'up'}`];
    if (this.last) lines.push(`last    external_message_id ${this.last.external_message_id}`);
    return lines.join('\n');
  }

  /** Sends one after the other, in the order in which they were entered. */
  private send(message: Sent): void {
    const { http } = this.parts;
    const place = { source_id: this.sourceId, session_id: this.sessionId };
    this.last = message;
    this.own.add(message.external_message_id);
    this.await(!this.hasReply);
    this.underWay.set(message, this.parts.repeatLine(place.session_id, message));
    this.sending = this.sending.then(async () => {
      try {
        const { message_id, created, wasRetried: repeated } = await sendMessage(http, { ...place, ...message });
        this.underWay.delete(message);
        this.own.add(message_id);
        if (created === false && !repeated) this.say('It was registered before; it is there once.');
        // By now it may be another session that is talked in.
        if (place.session_id === this.sessionId) this.follower?.sent(place.session_id);
      } catch (error) {
        if (place.session_id === this.sessionId) this.await(false);
        this.notSent(message, error);
      }
    });
  }

  private notSent(message: Sent, error: unknown): void {
    if (!(error instanceof PartnerctlError)) this.failure ??= { error };
    else if (this.hasLeft || this.parts.interrupt.aborted) this.failure ??= { error: this.unsent(error) };
    else {
      const again = `/resend sends it again (external id ${message.external_message_id}); it is registered once.`;
      this.say(`Not sent: ${reason(error)}\n${again}`);
    }
    this.underWay.delete(message);
  }

  private await(awaiting: boolean): void {
    if (this.awaiting === awaiting) return;
    this.awaiting = awaiting;
    this.parts.prompt.label(awaiting ? AWAITING : READY);
  }

  private async followSession(): Promise<void> {
    const { http, clock, random, prompt } = this.parts;
    this.leaving = new AbortController();
    this.await(false);
    this.follower = follow(
      { http, clock, random, interrupt: this.leaving.signal },
      {
        source_id: this.sourceId,
        sessions: [{ session_id: this.sessionId, start: { from: 'last', count: EARLIER } }],
        follow: true,
      },
    );
    try {
      for await (const event of this.follower.events) await this.arrive(event);
    } catch (error) {
      this.failure = { error };
      prompt.close();
    }
  }

  private async arrive(event: FollowEvent): Promise<void> {
    const { prompt, show } = this.parts;
    if (event.kind === 'lost') {
      this.lost = true;
      this.say(`The line is lost: ${reason(event.error)} Trying on.`);
    } else if (event.kind === 'back') {
      this.lost = false;
      this.say(`The line is back; ${event.missed} messages came meanwhile.`);
    } else if (event.kind === 'unknown' || event.kind === 'gap') {
      this.say(noticeText(event));
    } else if (event.kind === 'message') {
      const { message } = event;
      if (message.isReply) {
        this.hasReply = true;
        this.await(false);
      }
      const typedHere = this.own.has(message.external_message_id ?? '') || this.own.has(message.message_id);
      if (!typedHere || event.backlog) prompt.above(await show(message));
    }
  }
}
