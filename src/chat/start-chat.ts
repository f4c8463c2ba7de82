import { PartnerctlError } from '../errors.ts';
import { type ChatContext, followDeps, openPlaces } from './context.ts';
import { type ChatPrompt, type OpenDeps, openChat } from './open.ts';
import { resendCommand } from './resend-command.ts';
import { findSource, type SourceInput } from './source.ts';

interface ChatOptions extends Pick<OpenDeps, 'newId' | 'describeError'> {
  readonly source: SourceInput;
  readonly session_id: string;
  readonly openPrompt: () => Promise<ChatPrompt>;
}

/** Opens a conversation at a prompt. @throws as `findSource` and `openChat` */
export async function startChat(
  context: ChatContext,
  { source, session_id, openPrompt, ...deps }: ChatOptions,
): Promise<void> {
  const http = await context.http();
  const source_id = await findSource(http, source, context.command);
  const places = await openPlaces(context, http);
  places.check({ source_id, session_id });
  const prompt = await openPrompt();
  prompt.say(`Source ${source_id}, session ${session_id}. /help lists the commands; Ctrl-D leaves.`);
  let isRecording = true;
  const remember: OpenDeps['remember'] = async (session) => {
    try {
      if (isRecording) await places.remember(session);
    } catch (error) {
      if (!(error instanceof PartnerctlError)) throw error;
      isRecording = false;
      prompt.say(`${error.message} \`chat watch\` does not show this session.`);
    }
  };
  const following = { ...followDeps(context, http), signal: context.abortSignal };
  const resend: OpenDeps['resendCommand'] = (message) => resendCommand(context.command, message);
  await openChat({ ...deps, ...following, prompt, remember, resendCommand: resend }, { source_id, session_id });
}
