import { CHAT_DEFAULTS } from '../chat/chat-setup.ts';
import { type CronResult, toWireSchedule } from '../cron/cron-result.ts';
import { wantedChat } from './differences.ts';
import type { Manifest, ManifestAgent } from './manifest.ts';

/** One thing that provisioning creates, as `plan -o json` shows it. */
export type Action =
  | {
      readonly op: 'create_space';
      readonly name: string;
      readonly description?: string;
      readonly is_org_wide?: boolean;
    }
  | {
      readonly op: 'install_agent';
      readonly name: string;
      readonly template_id: string;
      readonly auto_create_api_chat?: boolean;
      readonly api_chat_routing_mode?: string;
    }
  | {
      readonly op: 'setup_chat';
      /** The name of the agent: an agent has one chat. */
      readonly name: string;
      readonly source_name: string;
      readonly reply_capable: boolean;
      readonly routing_mode: string;
    }
  | {
      readonly op: 'create_job';
      readonly name: string;
      /** The name of the agent. */
      readonly agent: string;
      readonly schedule: ReturnType<typeof toWireSchedule>;
      /** The schedule in English. */
      readonly in_words: string;
      /** ISO 8601 with the offset of the schedule's timezone. */
      readonly next_runs: readonly string[];
    };

/** The creation of a space. */
export function createSpaceAction({ space: { name, description, is_org_wide } }: Manifest): Action {
  return {
    op: 'create_space',
    name,
    ...(description !== undefined && { description }),
    ...(is_org_wide !== undefined && { is_org_wide }),
  };
}

/** The installation of an agent. Its chat is set up by a call of its own if the manifest describes it. */
export function installAgentAction(agent: ManifestAgent): Action {
  const { name, template_id, chat, auto_create_api_chat, api_chat_routing_mode } = agent;
  return {
    op: 'install_agent',
    name,
    template_id,
    ...(!chat && auto_create_api_chat !== undefined && { auto_create_api_chat }),
    ...(!chat && api_chat_routing_mode !== undefined && { api_chat_routing_mode }),
  };
}

/** The call that sets up the chat of an agent; undefined if the manifest does not describe it. */
export function setUpChatAction(agent: ManifestAgent): Action | undefined {
  const wanted = wantedChat(agent);
  if (!wanted) return undefined;
  const { name: source_name, reply_capable, routing_mode } = { ...CHAT_DEFAULTS, ...wanted };
  return { op: 'setup_chat', name: agent.name, source_name, reply_capable, routing_mode };
}

/** The creation of a job. @param agent the name of its agent */
export function createJobAction(agent: string, { job, description, next_runs }: CronResult): Action {
  const { name, schedule } = job;
  return { op: 'create_job', name, agent, schedule: toWireSchedule(schedule), in_words: description, next_runs };
}
