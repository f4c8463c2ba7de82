import { randomUUID } from 'node:crypto';
import { type NewMessage, postMessage } from '../api/calls.ts';
import type { Http } from '../api/http.ts';
import type { SessionRef } from '../contract/messages.ts';
import { isCtrlC, PartnerctlError, withHint } from '../errors.ts';
import { errorMessage } from '../platform/error-code.ts';
import { Follower, type SessionEvent } from './follow.ts';
import { followSession } from './followed-session.ts';
import { openPlaces, type Places } from './places.ts';
import { resendCommand } from './send.ts';
import type { ChatContext } from './session.ts';
import { findSource, type SourceInput } from './source.ts';
import { explainMissing } from './wait.ts';

/** A prompt below the conversation. What it shows may be hostile: the prompt cleans it. */
export interface ChatPrompt {
  /** What the person enters. Ends when they leave. */
  readonly entries: AsyncIterable<string>;
  say(text: string): void;
  show(event: SessionEvent): void;
  close(): void;
}

interface OpenParts {
  readonly context: ChatContext;
  readonly http: Http;
  readonly places: Places;
  readonly prompt: ChatPrompt;
  readonly session: SessionRef;
}

const HELP =
  '/quit leaves, like Ctrl-D. Alt+Enter starts a new line. To send a message that starts with /, type two: //';

const EARLIER_MESSAGES = 10;
/** A registered message that no poll shows for this long does not come. */
const MAX_LAG_MS = 20_000;

/** A conversation at a prompt: sends what is typed, and shows new messages above the line being typed. */
class OpenChat {
  private readonly parts: OpenParts;
  private readonly follower: Follower;
  /** Ids of the messages that were typed here and are on the screen already. */
  private readonly ownIds = new Set<string>();
  private sending: Promise<void> = Promise.resolve();
  /** Messages that are not known to be registered, with the error of those that failed. */
  private readonly unsent = new Map<NewMessage, unknown>();
  /** A message that was registered, and sent at a time after which the history has shown none. */
  private unseen: { readonly message_id: string; readonly at: number } | undefined;
  private lastShownAt = 0;
  private failure: unknown;

  constructor(parts: OpenParts) {
    this.parts = parts;
    this.follower = new Follower(parts.context, parts.http);
  }

  async run(): Promise<void> {
    const { prompt, context } = this.parts;
    const { abortSignal } = context;
    const close = (): void => prompt.close();
    abortSignal.addEventListener('abort', close, { once: true });
    if (abortSignal.aborted) close();
    const following = this.follow();
    try {
      for await (const entry of prompt.entries) {
        if (/^\/quit(?!\S)/.test(entry)) break;
        this.handle(entry);
      }
      if ([...this.unsent.values()].includes(undefined)) {
        prompt.say('Waiting until all messages are registered. Press Ctrl-C to leave now.');
      }
      await this.sending;
    } finally {
      this.follower.stop();
      prompt.close();
      await following;
    }
    this.throwFailure();
    // Ctrl-C is a normal way to leave.
    if (abortSignal.aborted && !isCtrlC(abortSignal.reason)) throw abortSignal.reason;
  }

  /** @throws what ended the conversation or kept messages from being sent, with the commands that send them again */
  private throwFailure(): void {
    const error = this.failure ?? [...this.unsent.values()].findLast((each) => each !== undefined);
    if (error === undefined) return;
    if (this.unsent.size === 0 || !(error instanceof PartnerctlError)) throw error;
    const { command } = this.parts.context;
    const commands = [...this.unsent.keys()].map((message) => resendCommand(command, message)).join('\n');
    throw withHint(error, { hint: `To send what is not confirmed, without duplicates:\n${commands}` });
  }

  /** A message keeps its white space. */
  private handle(entry: string): void {
    if (entry.startsWith('//')) this.send(entry.slice(1));
    else if (entry.startsWith('/help')) this.parts.prompt.say(HELP);
    else if (entry.startsWith('/')) this.parts.prompt.say(`Unknown command ${entry.split(/\s/)[0]}. ${HELP}`);
    else if (entry.trim() !== '') this.send(entry);
  }

  private send(text: string): void {
    const message = { ...this.parts.session, external_message_id: randomUUID(), text };
    this.ownIds.add(message.external_message_id);
    this.unsent.set(message, undefined);
    this.sending = this.sending.then(() => this.sendNow(message));
  }

  private async sendNow(message: NewMessage): Promise<void> {
    const { context, http, places, prompt } = this.parts;
    const at = context.clock.now();
    try {
      const { message_id } = await postMessage(http, message);
      this.unsent.delete(message);
      this.ownIds.add(message_id);
      if (this.lastShownAt < at) this.unseen ??= { message_id, at };
      this.follower.wake();
      await places.remember(message);
    } catch (error) {
      this.unsent.set(message, error);
      if (context.abortSignal.aborted) return;
      prompt.say(`Not confirmed: ${errorMessage(error)} When you leave, the command that sends it again is shown.`);
    }
  }

  private async follow(): Promise<void> {
    const { prompt, places, session } = this.parts;
    try {
      const { follower } = this;
      const start = { from: 'last', count: EARLIER_MESSAGES } as const;
      for await (const event of follower.events<SessionEvent>((emit) =>
        followSession(follower, session, start, emit),
      )) {
        if (!this.isOnScreen(event)) prompt.show(event);
        this.sayIfMissing(event);
        if (event.kind === 'message') await places.remember(event.ref);
      }
    } catch (error) {
      this.failure = error;
      prompt.close();
    }
  }

  /** Says once that a registered message does not show. A history may have replies only, so any message counts. */
  private sayIfMissing(event: SessionEvent): void {
    const { context, prompt, session } = this.parts;
    if (event.kind === 'message') {
      this.unseen = undefined;
      this.lastShownAt = context.clock.now();
    }
    if (event.kind !== 'polled' || !this.unseen || event.at < this.unseen.at + MAX_LAG_MS) return;
    const { message, hint } = explainMissing(context.command, session, this.unseen.message_id);
    this.unseen = undefined;
    prompt.say(`${message} ${hint}`);
  }

  private isOnScreen(event: SessionEvent): boolean {
    if (event.kind !== 'message') return false;
    const { message_id, external_message_id } = event.message;
    return this.ownIds.has(message_id) || this.ownIds.has(external_message_id ?? '');
  }
}

/**
 * Opens a conversation at a prompt, until the person leaves.
 * @throws as `findSource`; PartnerctlError if it cannot continue, or if messages were not sent when the person left
 */
export async function openChat(
  context: ChatContext,
  source: SourceInput,
  session_id: string,
  openPrompt: () => Promise<ChatPrompt>,
): Promise<void> {
  const http = await context.http();
  const session = { source_id: await findSource(http, source, context.command), session_id };
  const places = openPlaces({ ...context, warn: async (text) => prompt.say(text) }, http);
  places.check(session);
  const prompt = await openPrompt();
  prompt.say(`Source ${session.source_id}, session ${session_id}. /help lists the commands; Ctrl-D leaves.`);
  await new OpenChat({ context, http, places, prompt, session }).run();
}
